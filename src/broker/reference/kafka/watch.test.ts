import { expect, test } from 'vitest';
import { silentLogger } from '../../../runtime/index.ts';
import { FakeClock } from '../../../runtime/testing/index.ts';
import type { PresentTopic } from './topic.ts';
import { watchTopics } from './watch.ts';

const topic = (retention: string): PresentTopic => ({
  partitions: 1,
  copies: [{ now: 1, planned: 1 }],
  config: { 'retention.ms': retention },
});

function watching() {
  const clock = new FakeClock();
  const stopping = new AbortController();
  const topics = new Map([['uid-1', 'events']]);
  const present = new Map([['events', topic('1')]]);
  const kafka = { isAway: false };
  const reported: string[] = [];
  const done = watchTopics({
    admin: {
      async read(names) {
        if (kafka.isAway) throw new Error('Kafka is away');
        return new Map([...present].filter(([name]) => names.includes(name)));
      },
    },
    topics: () => topics,
    changed: (uid) => reported.push(uid),
    clock,
    signal: stopping.signal,
    log: silentLogger,
  });
  return {
    topics,
    present,
    kafka,
    /** What is reported in the half minute to come: a minute is promised, and repairing takes its own time. */
    async changedSoon() {
      reported.length = 0;
      await clock.advance(30_000);
      return reported.splice(0);
    },
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

test('as kidp broker runs it, what is changed by hand is found well within a minute, and reported once', async () => {
  const { changedSoon, present, stop } = watching();
  expect(await changedSoon()).toEqual(['uid-1']);
  expect(await changedSoon()).toEqual([]);
  present.set('events', topic('2'));
  expect(await changedSoon()).toEqual(['uid-1']);
  present.set('events', { ...topic('2'), copies: [{ now: 2, planned: 2 }] });
  expect(await changedSoon()).toEqual(['uid-1']);
  present.delete('events');
  expect(await changedSoon()).toEqual(['uid-1']);
  expect(await changedSoon()).toEqual([]);
  await stop();
});

test('what was not seen while Kafka was away is reported afterwards', async () => {
  const { changedSoon, present, kafka, stop } = watching();
  await changedSoon();
  kafka.isAway = true;
  present.set('events', topic('2'));
  expect(await changedSoon()).toEqual([]);
  kafka.isAway = false;
  expect(await changedSoon()).toEqual(['uid-1']);
  await stop();
});

test('topics that nobody has any more are forgotten', async () => {
  const { changedSoon, topics, stop } = watching();
  await changedSoon();
  topics.delete('uid-1');
  expect(await changedSoon()).toEqual([]);
  topics.set('uid-1', 'events');
  expect(await changedSoon()).toEqual(['uid-1']);
  await stop();
});
