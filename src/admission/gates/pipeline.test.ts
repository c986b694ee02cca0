import { describe, expect, it } from 'vitest';
import { compilePolicy, emptyWorld, type PolicySet, policySet, readPolicy } from '../../policy/index.ts';
import { deadlineIn } from '../review/deadline.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import { denialMessage } from '../review/encode.ts';
import type { Phase } from './gate.ts';
import type { OwnerLookup } from './ownership/owner-chain.ts';
import { admissionPipeline, type PipelineOptions } from './pipeline.ts';

function setOf(...specs: readonly { name: string; spec: object }[]): PolicySet {
  const policies = specs.map(({ name, spec }) => {
    const { model, issues } = readPolicy({
      apiVersion: 'platform.company.com/v1',
      kind: 'Policy',
      metadata: { name },
      spec,
    });
    const compiled = model === undefined ? { issues } : compilePolicy(model);
    if (!('policy' in compiled) || compiled.policy === undefined) throw new Error(JSON.stringify(compiled.issues));
    return compiled.policy;
  });
  return policySet({ policies });
}

const rule = (name: string, types: readonly string[], expression: string, more: object = {}) => ({
  name,
  spec: { selector: { resourceTypes: types }, rules: [{ name: 'only', expression, ...more }] },
});
const addsLabel = (name: string, types: readonly string[], reinvocationPolicy?: string) => ({
  name,
  spec: {
    selector: { resourceTypes: types },
    ...(reinvocationPolicy === undefined ? {} : { reinvocationPolicy }),
    mutations: [
      {
        patchType: 'JSONPatch',
        jsonPatch: { expression: `[JSONPatch{op: 'add', path: '/metadata/labels/by-${name}', value: 'yes'}]` },
      },
    ],
  },
});

const owners: OwnerLookup = {
  team: async (name) => (name === 'backend-team' ? { namespace: 'team-backend' } : undefined),
  application: async () => undefined,
  teamOf: async () => undefined,
};
const database = (spec: Json = {}, labels: Json = { a: 'b' }): Json => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  metadata: { name: 'orders', namespace: 'team-backend', labels },
  spec: { owner: { kind: 'Team', name: 'backend-team' }, ...spec },
});
const create = (object: Json, over: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  uid: 'u',
  kind: { group: 'platform.company.com', version: 'v1', kind: 'Database' },
  namespace: 'team-backend',
  name: 'orders',
  operation: 'CREATE',
  userInfo: { username: 'ada' },
  object,
  ...over,
});
const configMap = create(
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'default', labels: {} } },
  { kind: { group: '', version: 'v1', kind: 'ConfigMap' }, namespace: 'default', name: 'a' },
);

const judged = (
  request: AdmissionRequest,
  phase: Phase,
  set: PolicySet | undefined,
  over: Partial<PipelineOptions> = {},
) =>
  admissionPipeline({
    owners,
    ...(set === undefined
      ? {}
      : { policies: { current: () => ({ set, world: emptyWorld(Date.now()) }), synced: () => true } }),
    ...over,
  })(request, phase, deadlineIn(10_000));

describe('a request through all gates', () => {
  const noBackup = rule('backed-up', ['Database'], 'has(spec.backup)', { message: 'Make backups' });

  it.each(['mutate', 'validate'] as const)('is denied in %s with every violation of every gate', async (phase) => {
    const wrong = create(database({}, { 'platform.company.com/tier': 'gold' }), {
      operation: 'UPDATE',
      oldObject: database({ owner: { kind: 'Team', name: 'other' } }),
    });
    const decision = await judged(wrong, phase, setOf(noBackup));
    expect(decision.violations.map(({ code }) => code)).toEqual(['OwnerImmutable', 'LabelReserved', 'only']);
    expect(decision.patches).toEqual([]);
    expect(denialMessage(decision)).toContain('policy backed-up, rule only: spec.backup is not set. Make backups');
  });

  it('is left to the validating webhook by policies where nothing else is wrong', async () => {
    const decision = await judged(create(database()), 'mutate', setOf(noBackup));
    expect(decision.allowed).toBe(true);
    expect((await judged(create(database()), 'validate', setOf(noBackup))).allowed).toBe(false);
  });

  it('is changed by the platform and by policies that may be asked again, in one patch', async () => {
    const set = setOf(addsLabel('again', ['Database'], 'IfNeeded'), addsLabel('once', ['Database']));
    const paths = async (phase: Phase) =>
      (await judged(create(database()), phase, set)).patches.map(({ path }) => path.replace(/^.*\//, ''));
    expect((await paths('mutate')).sort()).toEqual([
      'by-again',
      'finalizers',
      'platform.company.com~1managed-by',
      'platform.company.com~1team',
    ]);
    expect(await paths('mutate-once')).toEqual(['by-once']);
    expect(await paths('validate')).toEqual([]);
  });

  it('is refused where a mutation fails, together with what else is wrong', async () => {
    const failing = addsLabel('failing', ['Database']);
    const expression = "[JSONPatch{op: 'add', path: object.spec.nothing, value: 'x'}]";
    failing.spec.mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression } }];
    const decision = await judged(create(database()), 'mutate-once', setOf(failing, noBackup));
    expect(decision.violations.map(({ gate }) => gate.split(',')[0])).toEqual(['policy failing', 'policy backed-up']);
  });

  it('carries policy, revision and latency for the audit log', async () => {
    const set = setOf(rule('all', ['core/v1/ConfigMap'], 'false', { enforcement: 'Audit' }));
    const { allowed, auditAnnotations } = await judged(configMap, 'validate', set);
    expect(allowed).toBe(true);
    expect(auditAnnotations).toMatchObject({ revision: set.revision, policies: 'all', audit: 'all/only' });
    expect(Number(auditAnnotations?.['latency-microseconds'])).toBeGreaterThan(0);
  });

  it('waits for nothing where nothing has to be asked', () => {
    expect(judged(configMap, 'validate', setOf(rule('all', ['core/v1/ConfigMap'], 'true')))).not.toBeInstanceOf(
      Promise,
    );
  });

  it('looks again, live, before it refuses because of who the Team is', async () => {
    const stale: OwnerLookup = {
      ...owners,
      team: async (_, { live = false } = {}) => ({ namespace: live ? 'team-backend' : 'team-old' }),
    };
    const labelled = create(database({}, { 'platform.company.com/team': 'team-backend' }));
    expect((await judged(labelled, 'validate', undefined, { owners: stale })).allowed).toBe(true);
  });

  it('is not admitted if owners cannot be read', async () => {
    const away: OwnerLookup = { ...owners, team: () => Promise.reject(new Error('away')) };
    await expect(judged(create(database()), 'validate', undefined, { owners: away })).rejects.toThrow('away');
  });

  it('hears the gates that come later', async () => {
    const gate = {
      name: 'later',
      matches: ({ kind }: AdmissionRequest) => kind.kind === 'ConfigMap',
      evaluate: async () => ({
        violations: [{ gate: 'later', code: 'Late', field: '', message: 'no', next: '' }],
        warnings: ['w'],
        patches: [],
      }),
    };
    const decision = await judged(configMap, 'validate', setOf(), { asyncGates: [gate] });
    expect(decision).toMatchObject({ allowed: false, warnings: ['w'], violations: [{ code: 'Late' }] });
    expect((await judged(create(database()), 'validate', setOf(), { asyncGates: [gate] })).allowed).toBe(true);
  });
});

describe('questions of authorizer', () => {
  const asks = setOf(
    rule('asks', ['core/v1/ConfigMap'], "authorizer.group('').resource('secrets').check('get').allowed()"),
  );

  it.each([true, false])('are answered before the decision counts: %s', async (allowed) => {
    const ask = () => async (questions: readonly unknown[]) => questions.map(() => ({ allowed }));
    expect((await judged(configMap, 'validate', asks, { ask })).allowed).toBe(allowed);
  });

  it('are refused where there is nobody to ask', async () => {
    expect((await judged(configMap, 'validate', asks)).allowed).toBe(false);
  });
});

describe('a Policy', () => {
  const about = (name: string): AdmissionRequest => {
    const { oldObject, ...request } = create({ metadata: { name }, spec: {} });
    return { ...request, kind: { group: 'platform.company.com', version: 'v1', kind: 'Policy' }, name };
  };
  const set = setOf(rule('no-policies', ['Policy'], 'false'), rule('other', ['Database'], 'true'));

  it('is evaluated by other policies, never by its own rules', async () => {
    expect((await judged(about('other'), 'validate', set)).allowed).toBe(false);
    expect((await judged(about('no-policies'), 'validate', set)).allowed).toBe(true);
  });
});
