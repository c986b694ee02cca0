/** All starter policies take the same objects for production: by either environment label, or by the target. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type AdmissionRequest, decide, type Json, policySet } from '../../src/policy/index.ts';
import { readPack } from './support/packs.ts';

const policies = readPack('platform');
const apiVersion = 'platform.company.com/v1';
const target = (name: string, environment?: string): Json => ({
  apiVersion,
  kind: 'DeploymentTarget',
  metadata: { name },
  spec: { provider: 'azure', ...(environment === undefined ? {} : { environment }) },
});
const targets = [target('live', 'production'), target('short', 'prod'), target('stage', 'staging'), target('plain')];
const world = {
  now: 0,
  namespace: () => undefined,
  find: ({ kind }: { kind: string }) => (kind === 'DeploymentTarget' ? targets : []),
};

interface Mark {
  readonly reason: string;
  readonly production: boolean;
  readonly environment?: string;
  /** The label of dependency selectors, `database.platform.company.com/environment`. */
  readonly usage?: string;
  readonly target?: string;
}
const marks: readonly Mark[] = [
  { reason: 'the label', production: true, environment: 'production' },
  { reason: 'the label, short', production: true, environment: 'prod' },
  { reason: 'the label, in capitals', production: true, environment: 'Production' },
  { reason: 'the label of dependency selectors', production: true, usage: 'production' },
  { reason: 'the target', production: true, target: 'live' },
  { reason: 'the target, short', production: true, target: 'short' },
  { reason: 'the target, whatever a label says', production: true, target: 'live', environment: 'staging' },
  { reason: 'one of two labels', production: true, usage: 'production', environment: 'staging' },
  { reason: 'nothing', production: false },
  { reason: 'staging by label', production: false, environment: 'staging', usage: 'staging' },
  { reason: 'staging by target', production: false, target: 'stage' },
  { reason: 'a target without an environment', production: false, target: 'plain' },
  { reason: 'a target that does not exist', production: false, target: 'none' },
];

function objectOf(kind: string, spec: object, { environment, usage, target: name }: Mark): Json {
  const labels = {
    ...(environment === undefined ? {} : { environment }),
    ...(usage === undefined ? {} : { [`${kind.toLowerCase()}.platform.company.com/environment`]: usage }),
  };
  const targetRef = name === undefined ? {} : { targetRef: { name } };
  return { apiVersion, kind, metadata: { name: 'it', namespace: 'team', labels }, spec: { ...spec, ...targetRef } };
}

function broken(kind: string, object: Json | undefined, oldObject?: Json): string[] {
  const request = {
    uid: '1',
    kind: { group: 'platform.company.com', version: 'v1', kind },
    operation: object === undefined ? 'DELETE' : oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'ada' },
    ...(object === undefined ? {} : { object }),
    ...(oldObject === undefined ? {} : { oldObject }),
  } as AdmissionRequest;
  const { results } = decide(policySet({ policies }), request, world);
  return results.map(({ policy, rule, result }) => `${policy}/${rule}${result === 'error' ? ' error' : ''}`);
}

/** An object that breaks each rule for production, if it is production. */
const rules: readonly { rule: string; kind: string; spec: object; deleted?: boolean }[] = [
  { rule: 'production-backups/require-backup', kind: 'Database', spec: { engine: 'postgresql' } },
  { rule: 'production-deletion/deletion-is-allowed', kind: 'Database', spec: { engine: 'postgresql' }, deleted: true },
  { rule: 'services/production-has-two-copies', kind: 'Service', spec: { replicas: 1 } },
  { rule: 'connection-secrets/production-rotates', kind: 'Database', spec: { engine: 'postgresql' } },
  { rule: 'connection-secrets/production-rotates', kind: 'Cache', spec: { engine: 'redis' } },
  { rule: 'connection-secrets/production-rotates', kind: 'Topic', spec: { type: 'topic' } },
  { rule: 'topics/replication', kind: 'Topic', spec: { type: 'topic', replication: 1 } },
  { rule: 'secrets/rotation', kind: 'Secret', spec: {} },
];

describe.each(rules)('$rule, for a $kind', ({ rule, kind, spec, deleted = false }) => {
  test.each(marks)('is production by $reason: $production', (mark) => {
    const object = objectOf(kind, spec, mark);
    const found = deleted ? broken(kind, undefined, object) : broken(kind, object);
    expect(found.filter((each) => each.startsWith(rule))).toEqual(mark.production ? [rule] : []);
  });
});

test.each(
  marks.filter(({ production }) => production),
)('a Database that was production by $reason does not become anything else without the annotation', (mark) => {
  const before = objectOf('Database', {}, mark);
  const after = objectOf('Database', {}, { reason: '', production: false, environment: 'staging', target: 'stage' });
  expect(broken('Database', after, before)).toContain('production-deletion/stays-production');
});

test.each<Mark & { denied: string[] }>([
  {
    reason: 'labels that differ',
    production: true,
    environment: 'staging',
    usage: 'production',
    denied: ['labels-agree'],
  },
  {
    reason: 'the other way round',
    production: true,
    environment: 'production',
    usage: 'staging',
    denied: ['labels-agree'],
  },
  {
    reason: 'a label for staging, a target for production',
    production: true,
    environment: 'staging',
    target: 'live',
    denied: ['target-agrees'],
  },
  {
    reason: 'the other label for staging, a target for production',
    production: true,
    usage: 'staging',
    target: 'short',
    denied: ['target-agrees'],
  },
  {
    reason: 'a label for production, a target for staging',
    production: true,
    environment: 'production',
    target: 'stage',
    denied: ['target-is-for-production'],
  },
  {
    reason: 'the other label for production, a target for staging',
    production: true,
    usage: 'prod',
    target: 'stage',
    denied: ['target-is-for-production'],
  },
  {
    reason: 'all of them agree',
    production: true,
    environment: 'production',
    usage: 'production',
    target: 'live',
    denied: [],
  },
])('contradictions are denied for every kind: $reason', ({ denied, ...mark }) => {
  for (const kind of ['Database', 'Service', 'Cache', 'Topic', 'Secret']) {
    const found = broken(kind, objectOf(kind, {}, mark)).map((each) => each.slice(each.indexOf('/') + 1));
    const about = ['labels-agree', 'target-agrees', 'target-is-for-production'];
    expect(found.filter((each) => about.some((rule) => each.startsWith(rule)))).toEqual(denied);
  }
});

test('no policy mentions production without being in these tables', () => {
  const root = join(import.meta.dirname, '..', '..', 'policies', 'platform');
  const mentioning = policies
    .map(({ model }) => model.name)
    .filter((name) => /\bprod(uction)?\b/i.test(readFileSync(join(root, `${name}.yaml`), 'utf8')));
  const inTables = [...rules.map(({ rule }) => rule.split('/')[0]), 'environment-labels', 'production-targets'];
  expect(mentioning.sort()).toEqual([...new Set(inTables)].sort());
});
