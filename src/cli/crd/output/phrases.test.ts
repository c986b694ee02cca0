import { expect, test } from 'vitest';
import { witnessLines } from './phrases.ts';

test('an example with thousands of equal elements is cut, and has no YAML anchors', () => {
  const element = { name: 'a' };
  const lines = witnessLines(
    { outcome: 'refused', because: '', object: { spec: { items: Array.from({ length: 2001 }, () => element) } } },
    40,
  );
  expect(lines).toHaveLength(41);
  expect(lines[2]).toBe('    - name: a');
  expect(lines[40]).toBe('… 1963 more lines');
  expect(lines.join('\n')).not.toMatch(/[&*]/);
});

test('a text as long as a limit is cut within its line', () => {
  expect(
    witnessLines({ outcome: 'refused', because: '', object: { text: 'x'.repeat(5000) } }, 40).map(
      ({ length }) => length,
    ),
  ).toEqual([160]);
});
