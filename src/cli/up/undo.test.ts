import { expect, test } from 'vitest';
import { startUndo } from './undo.ts';

test('takes everything back in reverse, whatever fails on the way, and only once', async () => {
  const done: string[] = [];
  const undo = startUndo();
  undo.add('first', async () => {
    done.push('first');
    return ['a kind stays'];
  });
  undo.add('second', async () => {
    done.push('second');
    throw Object.assign(new Error('refused'), { code: 'connection/refused' });
  });
  undo.add('third', async () => done.push('third'));
  expect(await undo.run()).toEqual(['second: refused', 'a kind stays']);
  expect(done).toEqual(['third', 'second', 'first']);
  expect(await undo.run()).toEqual([]);
});

test('does not wait for ever for a step that hangs', async () => {
  const undo = startUndo(10);
  const done: string[] = [];
  undo.add('reached', async () => done.push('reached'));
  undo.add('hanging', () => new Promise(() => undefined));
  expect(await undo.run()).toEqual(['hanging: it has not ended after 0.01 s']);
  expect(done).toEqual(['reached']);
});
