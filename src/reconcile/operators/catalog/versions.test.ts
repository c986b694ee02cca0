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

describe('versionsOf', () => {
  test.each([
    {
      reason: 'all listed versions, the newest first',
      operator: operatorWith({}),
      versions: ['1.2.0', 'v1.10.0', 'latest'],
      expected: ['v1.10.0 Listed -', '1.2.0 Listed -'],
    },
    {
      reason: 'keeps previous results',
      operator: operatorWith({}, { versions: [known('1.0.0')] }),
      versions: ['1.0.0', '1.1.0'],
      expected: ['1.1.0 Listed -', '1.0.0 Available then'],
    },
    {
      reason: 'inspects a changed chart of the same version again',
      operator: operatorWith({}, { versions: [known('1.0.0', { digest: 'sha256:other' })] }),
      versions: ['1.0.0'],
      expected: ['1.0.0 Listed -'],
    },
    {
      reason: 'a changed spec may refer to another repository',
      operator: operatorWith({}, { observedGeneration: 1, versions: [known('1.0.0')] }),
      versions: ['1.0.0'],
      expected: ['1.0.0 Available -'],
    },
    {
      reason: 'only versions in spec.versions, with or without v, or with their own chart version',
      operator: operatorWith({ versions: [{ version: 'v1.0.0' }, { version: '3.0.0', chartVersion: '0.1.0' }] }),
      versions: ['1.0.0', '0.1.0', '9.0.0'],
      expected: ['3.0.0 Listed -', 'v1.0.0 Listed -'],
    },
    {
      reason: 'a missing version, and one that is available again',
      operator: operatorWith(
        { versions: [{ version: '1.0.0' }, { version: '2.0.0' }] },
        { versions: [known('2.0.0', { state: 'Missing' })] },
      ),
      versions: ['2.0.0'],
      expected: ['2.0.0 Listed -', '1.0.0 Missing -'],
    },
  ])('$reason', ({ operator, versions, expected }) => expect(states(operator, ...versions)).toEqual(expected));

  test('keeps only the newest versions up to the maximum', () => {
    const many = Array.from({ length: 300 }, (_, index) => `1.${index}.0`);
    const found = states(operatorWith({}), ...many);
    expect([found.length, found[0], found.at(-1)]).toEqual([256, '1.299.0 Listed -', '1.44.0 Listed -']);
  });
});

describe('versionsToInspect', () => {
  const now = Date.parse('2026-01-01T01:00:00Z');
  const attention = { now, named: ['1.0.0'], newest: 1, recheckMilliseconds: 60_000 };
  const due = (spec: object, versions: readonly KnownVersion[]) =>
    versionsToInspect(operatorWith(spec), versions, attention).map(({ version }) => version);
  const unseen = (version: string) => ({ version, chartVersion: version, state: 'Listed' }) as KnownVersion;

  test.each([
    {
      reason: 'versions in use first, then the newest',
      spec: {},
      versions: [unseen('3.0.0'), unseen('2.0.0'), unseen('v1.0.0')],
      expected: ['v1.0.0', '3.0.0'],
    },
    {
      reason: 'all versions in spec.versions',
      spec: { versions: [] },
      versions: [unseen('3.0.0'), unseen('2.0.0')],
      expected: ['3.0.0', '2.0.0'],
    },
    {
      reason: 'keeps usable versions and rechecks unusable ones after the interval',
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
