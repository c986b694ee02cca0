import { expect, test } from 'vitest';
import { parseFieldPath } from './field-path.ts';

const rows: { reason: string; text: string; path: (string | number)[] }[] = [
  { reason: 'fields and items', text: 'spec.containers[1].image', path: ['spec', 'containers', 1, 'image'] },
  { reason: 'as JSONPath begins', text: '.spec.replicas', path: ['spec', 'replicas'] },
  { reason: 'keys in quotes', text: `metadata.labels["a.b/c"]['d"e']`, path: ['metadata', 'labels', 'a.b/c', 'd"e'] },
  { reason: 'keys in brackets alone', text: 'metadata.labels[a.b/c]', path: ['metadata', 'labels', 'a.b/c'] },
  { reason: 'as an expression names it', text: 'object.spec.x', path: ['spec', 'x'] },
  { reason: 'what cannot be read ends it', text: 'spec.a["open', path: ['spec', 'a'] },
  { reason: 'nothing', text: '', path: [] },
];
test.each(rows)('$reason', ({ text, path }) => {
  expect(parseFieldPath(text)).toEqual(path);
});
