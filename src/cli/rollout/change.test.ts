import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { type Approval, approval } from '../../api/index.ts';
import { ApiError, type Client, type ObjectKey, type Resource } from '../../runtime/index.ts';
import { type Control, changeOf } from './change.ts';
import { decideWith } from './decide.ts';
import { rollout } from './support/rollouts.ts';

describe('what is said to a rollout', () => {
  test.each<{
    reason: string;
    control: Control;
    of?: ReturnType<typeof rollout>;
    stage?: number;
    spec: object | undefined;
  }>([
    { reason: 'pause', control: 'pause', spec: { paused: true } },
    { reason: 'it is paused already', control: 'pause', of: rollout({}, { paused: true }), spec: undefined },
    { reason: 'resume', control: 'resume', of: rollout({}, { paused: true }), spec: { paused: null } },
    { reason: 'nothing to resume', control: 'resume', spec: undefined },
    { reason: 'promote the stage under way', control: 'promote', spec: { promote: 2 } },
    { reason: 'promote one', control: 'promote', stage: 3, spec: { promote: 3 } },
    {
      reason: 'never take a promotion back',
      control: 'promote',
      stage: 1,
      of: rollout({}, { promote: 2 }),
      spec: undefined,
    },
    { reason: 'abort', control: 'abort', spec: { abort: true } },
    { reason: 'roll back', control: 'rollback', spec: { rollback: true } },
    {
      reason: 'roll back what is completed',
      control: 'rollback',
      of: rollout({ phase: 'Completed' }),
      spec: { rollback: true },
    },
  ])('$reason', ({ control, of = rollout(), stage, spec }) => {
    expect(changeOf(of, control, stage).spec).toEqual(spec);
  });

  const back = { reason: 'Unhealthy' as const, startedAt: '2026-01-31T12:00:00Z', finishedAt: '2026-01-31T12:01:00Z' };
  test.each<{ reason: string; control: Control; of: ReturnType<typeof rollout>; stage?: number; says: string }>([
    { reason: 'it is over', control: 'pause', of: rollout({ phase: 'Failed' }), says: 'has ended (Failed)' },
    {
      reason: 'it is completed',
      control: 'abort',
      of: rollout({ phase: 'Completed' }),
      says: 'kidp rollout rollback widgets-2',
    },
    {
      reason: 'it went back',
      control: 'rollback',
      of: rollout({ phase: 'Failed', rollback: back }),
      says: 'rolled back already',
    },
    {
      reason: 'it has not begun',
      control: 'promote',
      of: rollout({ stage: 0 }),
      says: 'no stage of widgets-2 has started',
    },
    { reason: 'there is no such stage', control: 'promote', of: rollout(), stage: 9, says: 'has 3 stages' },
  ])('makes no sense: $reason', ({ control, of, stage, says }) => {
    expect(() => changeOf(of, control, stage)).toThrow(says);
  });
});

describe('what is decided', () => {
  const levels = [
    { role: 'EnvironmentOwner', approvals: 1 },
    { role: 'Admin', approvals: 1 },
  ];
  const asked = (name: string, spec: object = {}): Approval =>
    ({
      metadata: { name, uid: `uid-of-${name}` },
      spec: {
        type: 'VersionUpgrade',
        environment: 'Production',
        requester: 'ada',
        decisions: [],
        levels: levels.slice(1),
        ...spec,
      },
    }) as unknown as Approval;
  const waiting = rollout({
    phase: 'Planning',
    approvals: [
      { name: 'one', type: 'ProductionDeployment', outcome: 'Pending' },
      { name: 'two', type: 'VersionUpgrade', outcome: 'Pending' },
      { name: 'past', type: 'BreakingCRDChange', outcome: 'Approved' },
    ],
  });
  const missing = () => new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: 'not found' });

  /** An API server with admission: it records who decides, and denies users who are not allowed to. */
  function serverWith(objects: readonly { metadata: { name: string } }[], mayDecide: (name: string) => boolean) {
    const decided: string[] = [];
    const find = (resource: Resource, { name }: ObjectKey) => {
      const found = objects.find(
        (each) => each.metadata.name === name && 'status' in each === (resource !== approval.resource),
      );
      if (found === undefined) throw missing();
      return found;
    };
    const client = {
      get: async (resource: Resource, key: ObjectKey) => find(resource, key),
      patch: async (resource: Resource, key: ObjectKey, { body }: { body: { value: { decision: string } }[] }) => {
        const { spec, metadata } = find(resource, key) as unknown as Approval;
        if (!mayDecide(key.name)) {
          throw new ApiError({ doing: 'patch', status: 403, reason: 'Forbidden', message: 'this is for an admin' });
        }
        const entry = {
          ...body.at(-1)?.value,
          by: 'grace',
          at: '2026-01-31T12:00:00Z',
          roles: ['EnvironmentOwner', 'Admin'],
        };
        decided.push(`${key.name} ${entry.decision}`);
        return { metadata, spec: { ...spec, decisions: [...(spec.decisions ?? []), entry] } };
      },
    } as unknown as Pick<Client, 'get' | 'patch'>;
    return { client, decided };
  }

  const output = { out: '', err: '' };
  const sink = (to: 'out' | 'err') => ({
    write(text: string) {
      output[to] += text;
    },
  });
  const streams = { in: Readable.from([]), out: sink('out'), err: sink('err') };
  const decide = async (name: string, decision: 'Approve' | 'Reject', server: ReturnType<typeof serverWith>) => {
    Object.assign(output, { out: '', err: '' });
    const code = await decideWith(server.client, name, { decision, reason: undefined }, streams);
    return { code, ...output, decided: server.decided };
  };

  test('an Approval by its name', async () => {
    const server = serverWith([asked('one')], () => true);
    expect(await decide('one', 'Approve', server)).toEqual({
      code: 0,
      out: 'Approval one (VersionUpgrade, Production): approved\n',
      err: '',
      decided: ['one Approve'],
    });
  });

  test('of two levels the first', async () => {
    const server = serverWith([asked('one', { levels })], () => true);
    expect((await decide('approval/one', 'Approve', server)).out).toContain('level 2 of 2 requires 1 × Admin');
  });

  test('decides all pending Approvals; a denial is reported and is a failure', async () => {
    const objects = [waiting, asked('one'), asked('two')];
    expect(
      (
        await decide(
          'widgets-2',
          'Approve',
          serverWith(objects, () => true),
        )
      ).decided,
    ).toEqual(['one Approve', 'two Approve']);
    const some = await decide(
      'widgets-2',
      'Approve',
      serverWith(objects, (name) => name === 'one'),
    );
    expect(some).toMatchObject({ code: 1, decided: ['one Approve'] });
    expect(some.err).toBe('kidp: Approval two: patch: this is for an admin\n');
  });

  test('one rejection is enough', async () => {
    const server = serverWith([waiting, asked('one'), asked('two')], () => true);
    expect(await decide('rollout/widgets-2', 'Reject', server)).toMatchObject({ code: 0, decided: ['one Reject'] });
  });

  const rejected = asked('one', { decisions: [{ decision: 'Reject', by: 'linus', at: '2026-01-31T12:00:00Z' }] });
  test.each([
    {
      reason: 'neither is there',
      name: 'nothing',
      objects: [],
      says: 'no Approval or OperatorDeployment',
    },
    {
      reason: 'both are there',
      name: 'widgets-2',
      objects: [waiting, asked('widgets-2')],
      says: 'use approval/widgets-2',
    },
    { reason: 'it is decided', name: 'one', objects: [rejected], says: 'already decided: Rejected' },
    { reason: 'it waits for none', name: 'widgets-2', objects: [rollout()], says: 'waits for no Approval' },
    { reason: 'no such kind', name: 'team/one', objects: [], says: 'want approval/NAME' },
  ])('makes no sense: $reason', async ({ name, objects, says }) => {
    await expect(
      decide(
        name,
        'Approve',
        serverWith(objects, () => true),
      ),
    ).rejects.toThrow(says);
  });
});
