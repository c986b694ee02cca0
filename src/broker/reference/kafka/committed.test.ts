/** Which records of a partition count as committed: batches in the forms that Kafka returns, and the records that a reader gets. */
import { IS_CONTROL, IS_TRANSACTIONAL, type KafkaRecord } from '@platformatic/kafka';
import { expect, test } from 'vitest';
import { onlyCommitted } from './committed.ts';

type Step = readonly [producer: number, what: string];

const record = (key: Buffer) => ({ key }) as KafkaRecord;
const mark = (type: number) => record(Buffer.from([0, 0, 0, type]));

/** A mark, words in a transaction, or a word outside of any. */
function batchOf([producer, what]: Step) {
  const producerId = BigInt(producer);
  if (what === 'abort' || what === 'commit') {
    return { attributes: IS_CONTROL | IS_TRANSACTIONAL, producerId, records: [mark(what === 'commit' ? 1 : 0)] };
  }
  const records = what.split(' ').map((word) => record(Buffer.from(word)));
  return { attributes: producer < 0 ? 0 : IS_TRANSACTIONAL, producerId, records };
}

const cases: readonly { reason: string; steps: readonly Step[]; brings: string }[] = [
  {
    reason: 'what is committed comes, and in order',
    steps: [
      [1, 'a b'],
      [1, 'c'],
      [1, 'commit'],
      [1, 'd'],
      [1, 'commit'],
    ],
    brings: 'a b c d',
  },
  {
    reason: 'what is still open may yet be broken off',
    steps: [
      [1, 'a'],
      [1, 'commit'],
      [1, 'b'],
    ],
    brings: 'a',
  },
  {
    reason: 'each of several that one producer broke off is passed over',
    steps: [
      [1, 'a'],
      [1, 'abort'],
      [1, 'b'],
      [1, 'commit'],
      [1, 'c'],
      [1, 'abort'],
      [1, 'd'],
      [1, 'commit'],
    ],
    brings: 'b d',
  },
  {
    reason: 'one that was broken off while it was empty takes nothing with it',
    steps: [
      [1, 'a'],
      [1, 'abort'],
      [1, 'b'],
      [1, 'commit'],
      [1, 'abort'],
      [1, 'c'],
      [1, 'commit'],
    ],
    brings: 'b c',
  },
  {
    reason: 'a mark ends the transaction of its own producer only',
    steps: [
      [1, 'a'],
      [2, 'b'],
      [2, 'commit'],
      [1, 'abort'],
    ],
    brings: 'b',
  },
  {
    reason: 'what is in no transaction is written at once',
    steps: [
      [1, 'a'],
      [-1, 'b'],
      [1, 'commit'],
    ],
    brings: 'b a',
  },
];

test.each(cases)('$reason', ({ steps, brings }) => {
  const committed = onlyCommitted();
  const brought = steps.flatMap((step) => committed(batchOf(step)));
  expect(brought.map(({ key }) => String(key)).join(' ')).toBe(brings);
});
