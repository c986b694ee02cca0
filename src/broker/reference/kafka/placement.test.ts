import { describe, expect, test } from 'vitest';
import { type Placement, planPlacement, type Server } from './placement.ts';

/** Led by the first, and in sync, where nothing else is said. */
const partition = (servers: readonly number[], more: Partial<Placement> = {}) => ({
  servers,
  leader: servers[0] ?? -1,
  inSync: servers,
  adding: [],
  ...more,
});
const servers = (...ids: readonly number[]): Server[] => ids.map((id) => ({ id }));
const placedIn = (present: readonly Omit<Placement, 'partition'>[], replication: number, up: readonly Server[]) =>
  Object.fromEntries(
    planPlacement(
      't',
      present.map((each, index) => ({ ...each, partition: index })),
      replication,
      up,
    ),
  );

describe('on which servers messages are to be', () => {
  test.each([
    { reason: 'no change', present: [partition([1, 2])], replication: 2, up: servers(1, 2, 3), to: {} },
    {
      reason: 'more: existing replicas stay',
      present: [partition([2])],
      replication: 2,
      up: servers(1, 2),
      to: { 0: [2, 1] },
    },
    {
      reason: 'more: replicas are spread evenly',
      present: [partition([1]), partition([1]), partition([1]), partition([1])],
      replication: 2,
      up: servers(1, 2, 3),
      to: { 0: [1, 3], 1: [1, 2], 2: [1, 2], 3: [1, 3] },
    },
    {
      reason: 'more: another rack first',
      present: [partition([1])],
      replication: 2,
      up: [
        { id: 1, rack: 'a' },
        { id: 2, rack: 'a' },
        { id: 3, rack: 'a' },
        { id: 4, rack: 'b' },
      ],
      to: { 0: [1, 4] },
    },
    {
      reason: 'more: a server that is down gets none',
      present: [partition([1])],
      replication: 2,
      up: servers(1, 3),
      to: { 0: [1, 3] },
    },
    {
      reason: 'more: only for the partition that needs it',
      present: [partition([1, 2]), partition([2])],
      replication: 2,
      up: servers(1, 2),
      to: { 1: [2, 1] },
    },
    {
      reason: 'fewer: the last ones are removed',
      present: [partition([3, 1, 2])],
      replication: 2,
      up: servers(1, 2, 3),
      to: { 0: [3, 1] },
    },
    {
      reason: 'fewer: the leader stays',
      present: [partition([1, 2, 3], { leader: 3 })],
      replication: 2,
      up: servers(1, 2, 3),
      to: { 0: [1, 3] },
    },
    {
      reason: 'fewer: out-of-sync replicas are removed first',
      present: [partition([1, 2, 3], { inSync: [1, 3] })],
      replication: 2,
      up: servers(1, 2, 3),
      to: { 0: [1, 3] },
    },
    {
      reason: 'fewer: also if more servers are down than replicas stay',
      present: [partition([1, 2, 3], { inSync: [1] })],
      replication: 2,
      up: servers(1),
      to: { 0: [1, 2] },
    },
    {
      reason: 'a pending reassignment continues',
      present: [partition([1, 2], { inSync: [1], adding: [2] })],
      replication: 2,
      up: servers(1, 2, 3),
      to: {},
    },
    {
      reason: 'a server that went down while it was being added is replaced',
      present: [partition([1, 2], { inSync: [1], adding: [2] })],
      replication: 2,
      up: servers(1, 3),
      to: { 0: [1, 3] },
    },
    {
      reason: 'a server that went down is not replaced if one replica less is requested',
      present: [partition([1, 2], { inSync: [1], adding: [2] })],
      replication: 1,
      up: servers(1),
      to: { 0: [1] },
    },
    {
      reason: 'an existing replica on a server that is down is kept',
      present: [partition([1, 2], { inSync: [1] })],
      replication: 2,
      up: servers(1),
      to: {},
    },
  ])('$reason', ({ present, replication, up, to }) => {
    expect(placedIn(present, replication, up)).toEqual(to);
  });

  test('topics of one partition do not all go to the same server', () => {
    const chosen = ['a', 'b'].map((topic) =>
      planPlacement(topic, [{ ...partition([1]), partition: 0 }], 2, servers(1, 2, 3)).get(0),
    );
    expect(chosen).toEqual(
      expect.arrayContaining([
        [1, 2],
        [1, 3],
      ]),
    );
  });

  test('too few servers are up', () => {
    expect(() => placedIn([partition([1])], 3, servers(1, 2))).toThrow(
      expect.objectContaining({
        class: 'permanent',
        code: 'invalid-replication-factor',
        message: expect.stringMatching(/needs 3 Kafka servers, but 2 are up: set spec.replication to 2 or less/),
      }),
    );
  });
});
