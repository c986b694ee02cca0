import { describe, expect, test } from 'vitest';
import type { Operator } from '../../../api/index.ts';
import { type KnownVersion, versionsOf, versionsToInspect } from './versions.ts';

const operatorWith = (spec: object, status: object = {}): Operator =>
  ({
    metadata: { name: 'shop', generation: 2 },
    spec,
    status: { observedGeneration: 2, ...status },
  }) as unknown as Operator;

const listed = (...versions: string[]) => versions.map((version) => ({ version, digest: `sha256:${version}` }));
const known = (version: string, more: object = {}) =>
  ({
    version,
    chartVersion: version,
    state: 'Available',
    digest: `sha256:${version}`,
    checkedAt: 'then',
    ...more,
  }) as KnownVersion;
const states = (operator: Operator, ...versions: string[]) =>
  versionsOf(operator, listed(...versions)).map(
    ({ version, state, checkedAt }) => `${version} ${state} ${checkedAt ?? '-'}`,
  );

describe('which there are', () => {
  test.each([
    {
      reason: 'all that are listed, the newest first',
      operator: operatorWith({}),
      versions: ['1.2.0', 'v1.10.0', 'latest'],
      expected: ['v1.10.0 Listed -', '1.2.0 Listed -'],
    },
    {
      reason: 'what was found out before is kept',
      operator: operatorWith({}, { versions: [known('1.0.0')] }),
      versions: ['1.0.0', '1.1.0'],
      expected: ['1.1.0 Listed -', '1.0.0 Available then'],
    },
    {
      reason: 'another chart under the same version is looked at anew',
      operator: operatorWith({}, { versions: [known('1.0.0', { digest: 'sha256:other' })] }),
      versions: ['1.0.0'],
      expected: ['1.0.0 Listed -'],
    },
    {
      reason: 'another spec may mean another repository',
      operator: operatorWith({}, { observedGeneration: 1, versions: [known('1.0.0')] }),
      versions: ['1.0.0'],
      expected: ['1.0.0 Available -'],
    },
    {
      reason: 'only those that are named, also where the v differs or the chart has another version',
      operator: operatorWith({ versions: [{ version: 'v1.0.0' }, { version: '3.0.0', chartVersion: '0.1.0' }] }),
      versions: ['1.0.0', '0.1.0', '9.0.0'],
      expected: ['3.0.0 Listed -', 'v1.0.0 Listed -'],
    },
    {
      reason: 'one that is named and not there; one that is there again',
      operator: operatorWith(
        { versions: [{ version: '1.0.0' }, { version: '2.0.0' }] },
        { versions: [known('2.0.0', { state: 'Missing' })] },
      ),
      versions: ['2.0.0'],
      expected: ['2.0.0 Listed -', '1.0.0 Missing -'],
    },
  ])('$reason', ({ operator, versions, expected }) => expect(states(operator, ...versions)).toEqual(expected));

  test('no more than are told of, and those are the newest', () => {
    const many = Array.from({ length: 300 }, (_, index) => `1.${index}.0`);
    const found = states(operatorWith({}), ...many);
    expect([found.length, found[0], found.at(-1)]).toEqual([256, '1.299.0 Listed -', '1.44.0 Listed -']);
  });
});

describe('which are looked at', () => {
  const now = Date.parse('2026-01-01T01:00:00Z');
  const attention = { now, named: ['1.0.0'], newest: 1, recheckMilliseconds: 60_000 };
  const due = (spec: object, versions: readonly KnownVersion[]) =>
    versionsToInspect(operatorWith(spec), versions, attention).map(({ version }) => version);
  const unseen = (version: string) => ({ version, chartVersion: version, state: 'Listed' }) as KnownVersion;

  test.each([
    {
      reason: 'the newest, and first what somebody is about to roll out',
      spec: {},
      versions: [unseen('3.0.0'), unseen('2.0.0'), unseen('v1.0.0')],
      expected: ['v1.0.0', '3.0.0'],
    },
    {
      reason: 'all that spec.versions names',
      spec: { versions: [] },
      versions: [unseen('3.0.0'), unseen('2.0.0')],
      expected: ['3.0.0', '2.0.0'],
    },
    {
      reason: 'what is known to be good stays known, what was not is tried again after a while',
      spec: { versions: [] },
      versions: [
        known('4.0.0', { checkedAt: '2026-01-01T00:00:00Z' }),
        known('3.0.0', { state: 'Invalid', checkedAt: '2026-01-01T00:58:59Z' }),
        known('2.0.0', { state: 'Listed', checkedAt: '2026-01-01T00:59:30Z' }),
        known('1.0.0', { state: 'Missing' }),
      ],
      expected: ['3.0.0'],
    },
  ])('$reason', ({ spec, versions, expected }) => expect(due(spec, versions)).toEqual(expected));
});
