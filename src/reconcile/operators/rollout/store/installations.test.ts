import { describe, expect, test } from 'vitest';
import { type Operator, type OperatorInstallation, operatorInstallation } from '../../../../api/index.ts';
import { ApiError, type Client } from '../../../../runtime/index.ts';
import { type InstallationSpec, writeInstallation } from './installations.ts';
import { snapshotsInUse } from './retention.ts';

const base = { operator: 'tool', cluster: 'here', version: 'v1.0.0', releaseName: 'tool', revision: 1 };
const kept = (namespace: string) => ({
  version: 'v0.1.0',
  snapshot: `of-${namespace}`,
  namespace,
  keptUntil: '2026-02-01T12:00:00Z',
});
const inPlace = { version: 'v1.0.0', snapshot: 'before', namespace: 'green' };
const specOf = (namespace: string, more: Partial<InstallationSpec> = {}): InstallationSpec => ({
  ...base,
  snapshot: `of-${namespace}`,
  namespace,
  ...more,
});

type Members = Readonly<Record<string, unknown>>;
const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges a patch like the API server. */
const merged = (value: unknown, patch: Members): Members => {
  const before = isMembers(value) ? value : {};
  const after = Object.entries(patch).map(([key, each]) => [key, isMembers(each) ? merged(before[key], each) : each]);
  return Object.fromEntries(
    Object.entries({ ...before, ...Object.fromEntries(after) }).filter(([, each]) => each !== null),
  );
};

/** Returns the stored spec after writing `after` over `before`. */
async function over(before: InstallationSpec, after: InstallationSpec): Promise<InstallationSpec> {
  let stored: Members = { ...before };
  const client = {
    create: async () => {
      throw new ApiError({ doing: 'create', status: 409, reason: 'AlreadyExists', message: '' });
    },
    get: async () => ({ kind: operatorInstallation.kind, metadata: { name: 'one' }, spec: stored }),
    patch: async (_: unknown, __: unknown, { body }: { body: { spec: Members } }) => {
      stored = merged(stored, body.spec);
    },
  };
  await writeInstallation(client as unknown as Client, after);
  return stored as unknown as InstallationSpec;
}

describe('a kept side', () => {
  test.each<{ reason: string; before: InstallationSpec; after: InstallationSpec; kept: readonly string[] }>([
    {
      reason: 'stays recorded after an in-place upgrade of the other side',
      before: specOf('green', { previous: kept('blue') }),
      after: specOf('green', { previous: inPlace }),
      kept: ['blue'],
    },
    {
      reason: 'stays recorded after the rollback of that upgrade',
      before: specOf('green', { previous: inPlace, kept: [kept('blue')] }),
      after: specOf('green'),
      kept: ['blue'],
    },
    {
      reason: 'stays recorded after a switch to a third namespace',
      before: specOf('green', { previous: kept('blue') }),
      after: specOf('red', { previous: kept('green') }),
      kept: ['blue'],
    },
    {
      reason: 'is dropped when it is in use again',
      before: specOf('green', { previous: kept('blue') }),
      after: specOf('blue', { previous: kept('green') }),
      kept: [],
    },
    {
      reason: 'is dropped after a rollback to it',
      before: specOf('green', { previous: kept('blue'), kept: [kept('red')] }),
      after: specOf('blue'),
      kept: ['red'],
    },
    {
      reason: 'is recorded once',
      before: specOf('green', { previous: kept('blue'), kept: [kept('red')] }),
      after: specOf('green', { previous: kept('blue') }),
      kept: ['red'],
    },
  ])('$reason', async ({ before, after, kept: namespaces }) => {
    const { kept: found, ...rest } = await over(before, after);
    expect((found ?? []).map(({ namespace }) => namespace)).toEqual(namespaces);
    expect(rest).toEqual(after);
  });

  test('keeps its snapshot', () => {
    const spec = specOf('green', { previous: inPlace, kept: [kept('blue')] });
    const names = snapshotsInUse([], [{ spec } as OperatorInstallation], [] as Operator[]);
    expect([...names].sort()).toEqual(['before', 'of-blue', 'of-green']);
  });
});
