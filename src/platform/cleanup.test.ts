import { expect, test } from 'vitest';
import { createCleanup } from './cleanup.ts';

test('runs every step in reverse and only once, even if one fails', async () => {
  const done: string[] = [];
  const cleanup = createCleanup();
  cleanup.add('first', async () => {
    done.push('first');
    return ['a kind stays'];
  });
  cleanup.add('second', async () => {
    done.push('second');
    throw Object.assign(new Error('refused'), { code: 'connection/refused' });
  });
  cleanup.add('third', async () => done.push('third'));
  expect(await cleanup.run()).toEqual(['second: refused', 'a kind stays']);
  expect(done).toEqual(['third', 'second', 'first']);
  expect(await cleanup.run()).toEqual([]);
});

test('does not wait for ever for a step that hangs', async () => {
  const cleanup = createCleanup(10);
  const done: string[] = [];
  cleanup.add('reached', async () => done.push('reached'));
  cleanup.add('hanging', () => new Promise(() => undefined));
  expect(await cleanup.run()).toEqual(['hanging: timed out after 0.01 s']);
  expect(done).toEqual(['reached']);
});
