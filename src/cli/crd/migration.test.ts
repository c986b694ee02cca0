import { describe, expect, test } from 'vitest';
import { type Crd, type CrdVersion, compareCrds, readCrd } from '../../crd-compat/index.ts';
import { migrationOf, nextVersion } from './migration.ts';

const version = (name: string, spec: object, more: Partial<CrdVersion> = {}): CrdVersion => ({
  name,
  served: true,
  storage: name === 'v1',
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: spec } } } as never },
  ...more,
});

const definition = (versions: readonly CrdVersion[], spec: object = {}): Crd => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' }, versions, ...spec },
});

const text = { type: 'string' };
const number = { type: 'integer' };
const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };

describe('a drafted definition removes nothing', () => {
  const one = (spec: object) => definition([version('v1', spec)]);
  const rows: { reason: string; before: Crd; after: Crd; versions: string[]; webhook?: boolean; up?: RegExp }[] = [
    {
      reason: 'narrower',
      before: one({ size: { ...number, maximum: 20 } }),
      after: one({ size: { ...number, maximum: 10 } }),
      versions: ['v1', 'v2'],
      webhook: true,
      up: /change \.spec\.size to a value that the new version accepts/,
    },
    {
      reason: 'renamed',
      before: one({ owner: text }),
      after: one({ proprietor: text }),
      versions: ['v1', 'v2'],
      webhook: true,
      up: /move \.spec\.owner to \.spec\.proprietor/,
    },
    {
      reason: 'removed',
      before: one({ owner: text, size: number }),
      after: one({ size: number }),
      versions: ['v1', 'v2'],
      webhook: true,
      up: /keep the value of \.spec\.owner in an annotation/,
    },
    {
      reason: 'another type',
      before: one({ size: number }),
      after: one({ size: text }),
      versions: ['v1', 'v2'],
      webhook: true,
      up: /write \.spec\.size as "string" in place of "integer"/,
    },
    {
      reason: 'another default',
      before: one({ size: { ...number, default: 1 } }),
      after: one({ size: { ...number, default: 2 } }),
      versions: ['v1', 'v2'],
      webhook: true,
      up: /set \.spec\.size to 1 where it was unset/,
    },
    {
      reason: 'a removed version',
      before: definition([version('v1', { size: number }), version('v1beta1', { size: number })]),
      after: definition([version('v1', { size: number })]),
      versions: ['v1', 'v1beta1'],
    },
    {
      reason: 'a version that is no longer served',
      before: definition([version('v1', { size: number }), version('v1beta1', { size: number })]),
      after: definition([version('v1', { size: number }), version('v1beta1', { size: number }, { served: false })]),
      versions: ['v1', 'v1beta1'],
    },
    {
      reason: 'removed subresources and selectable fields',
      before: definition([
        version(
          'v1',
          { replicas: number, a: text },
          {
            subresources: { status: {}, scale },
            selectableFields: [{ jsonPath: '.spec.a' }],
          },
        ),
      ]),
      after: definition([version('v1', { replicas: number, a: text })]),
      versions: ['v1'],
    },
    {
      reason: 'the next name is taken',
      before: definition([version('v1', { size: number }), version('v2', { size: number })]),
      after: definition([version('v1', { size: text }), version('v2', { size: number })]),
      versions: ['v1', 'v3', 'v2'],
      webhook: true,
    },
  ];
  test.each(rows)('$reason', ({ before, after, versions, webhook = false, up }) => {
    expect(compareCrds(before, after).verdict).toBe('breaking');
    const { definition: made, sketched, carries, steps } = migrationOf(before, after);
    expect(readCrd(JSON.parse(JSON.stringify(made))).issues).toEqual([]);
    expect(sketched.verdict).not.toBe('breaking');
    expect(made.spec.versions.map(({ name }) => name)).toEqual(versions);
    expect(made.spec.versions.filter(({ storage }) => storage).map(({ name }) => name)).toEqual(['v1']);
    expect(made.spec.conversion?.strategy === 'Webhook').toBe(webhook);
    if (up !== undefined) expect(carries[0]?.up).toMatch(up);
    expect(steps.some((step) => step.startsWith('Apply the definition below'))).toBe(true);
    expect(steps[0]?.startsWith('Run a conversion webhook')).toBe(webhook);
  });
});

test('a change that is impossible in place gets a separate definition', () => {
  const { steps, sketched } = migrationOf(
    definition([version('v1', { size: number })]),
    definition([version('v1', { size: number })], { scope: 'Cluster' }),
  );
  expect(steps[0]).toMatch(/Give the new definition another plural or group/);
  expect(steps.join('\n')).toMatch(/metadata\.namespace/);
  expect(sketched.changes.map(({ kind }) => kind)).toEqual(['crd-created']);
});

test('the only step of a change that is not breaking is to apply it', () => {
  const { steps } = migrationOf(definition([version('v1', {})]), definition([version('v1', { size: number })]));
  expect(steps).toEqual(['Apply the new definition: it contains no breaking change.']);
});

test.each([
  ['v1', 'v2'],
  ['v1alpha1', 'v1alpha2'],
  ['v2beta9', 'v2beta10'],
  ['stable', 'stable-v2'],
])('the version after %s is %s', (name, next) => {
  expect(nextVersion(name, new Set([name]))).toBe(next);
});
