import { describe, expect, it } from 'vitest';
import { readException } from '../load/exception.ts';
import { readPolicy } from '../load/policy.ts';
import type { AdmissionRequest, Json } from '../request.ts';
import { emptyWorld, type World } from '../world.ts';
import { compileException, compilePolicy } from './compile.ts';
import { decide } from './decide.ts';
import { policySet } from './set.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

function policyOf(spec: object, name = 'p') {
  const { model, issues } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name },
    spec: { selector: { resourceTypes: ['Database'] }, ...spec },
  });
  if (model === undefined) throw new Error(JSON.stringify(issues));
  const compiled = compilePolicy(model);
  if (compiled.policy === undefined) throw new Error(JSON.stringify(compiled.issues));
  return compiled.policy;
}

const setOf = (...specs: object[]) => policySet({ policies: specs.map((spec, index) => policyOf(spec, `p${index}`)) });

function request(object: Json, more: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const [group = '', version = ''] = String(object.apiVersion).includes('/')
    ? String(object.apiVersion).split('/')
    : ['', String(object.apiVersion)];
  return { uid: 'u', kind: { group, version, kind: String(object.kind) }, operation: 'CREATE', object, ...more };
}

const database = (spec: object, metadata: object = {}): Json => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  metadata: { name: 'users', namespace: 'team', ...metadata },
  spec,
});

describe('decide', () => {
  it('accepts the policy of the requirements verbatim', () => {
    const set = setOf({
      selector: { resourceTypes: ['Database'], matchLabels: { environment: 'production' } },
      rules: [{ name: 'require-backup', expression: 'spec.backup.enabled == true' }],
    });
    const production = { labels: { environment: 'production' } };
    const denied = decide(set, request(database({ backup: { enabled: false } }, production)), emptyWorld(NOW));
    expect(denied).toMatchObject({
      allowed: false,
      matched: ['p0'],
      results: [{ policy: 'p0', rule: 'require-backup', result: 'fail', denies: true }],
    });
    const good = decide(set, request(database({ backup: { enabled: true } }, production)), emptyWorld(NOW));
    expect(good).toMatchObject({ allowed: true, matched: ['p0'], results: [] });
    const other = decide(set, request(database({})), emptyWorld(NOW));
    expect(other).toMatchObject({ allowed: true, matched: [] });
  });

  it('skips a rule for an exception in an allowed namespace', () => {
    const policy = policyOf({ rules: [{ name: 'r', expression: 'false' }] }, 'p');
    const exceptionIn = (namespace: string) => {
      const { exception, issues } = readException({
        apiVersion: 'platform.company.com/v1',
        kind: 'PolicyException',
        metadata: { name: 'e', namespace },
        spec: { policies: [{ name: 'p' }], selector: { names: ['users'] }, reason: 'x', requester: 'y' },
      });
      if (exception === undefined) throw new Error(JSON.stringify(issues));
      return compileException(exception).exception as never;
    };
    const judge = (namespace: string) =>
      decide(
        policySet({ policies: [policy], exceptions: [exceptionIn(namespace)] }),
        request(database({})),
        emptyWorld(NOW),
      );
    expect(judge('policy-exceptions').results).toMatchObject([{ result: 'skip', exception: 'policy-exceptions/e' }]);
    expect(judge('team').results).toMatchObject([{ result: 'fail' }]);
  });

  it('evaluates the Pod of a template', () => {
    const set = setOf({
      selector: { resourceTypes: ['core/v1/Pod'] },
      rules: [{ name: 'r', expression: "spec.containers.all(c, c.image.startsWith('r/'))" }],
    });
    const deployment = (image: string): Json => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', namespace: 'n' },
      spec: { template: { spec: { containers: [{ name: 'a', image }] } } },
    });
    expect(decide(set, request(deployment('r/a')), emptyWorld(NOW))).toMatchObject({ allowed: true, matched: ['p0'] });
    expect(decide(set, request(deployment('x')), emptyWorld(NOW)).allowed).toBe(false);
  });

  it('evaluates once for each params object', () => {
    const set = setOf({
      params: { apiVersion: 'v1', kind: 'ConfigMap', selector: {} },
      rules: [{ name: 'r', expression: 'spec.size <= params.data.max' }],
    });
    const world: World = { ...emptyWorld(NOW), find: () => [{ data: { max: 5 } }, { data: { max: 1 } }] };
    expect(decide(set, request(database({ size: 3 })), world).results).toHaveLength(1);
    expect(decide(set, request(database({ size: 3 })), world, { passes: true }).results).toHaveLength(2);
  });

  it('skips rules that need a request', () => {
    const set = setOf(
      { rules: [{ name: 'old', expression: 'oldObject == null' }] },
      {
        rules: [{ name: 'who', expression: "variables.me == 'x'" }],
        variables: [{ name: 'me', expression: 'request.userInfo.username' }],
      },
      { selector: { resourceTypes: ['Database'], users: ['x'] }, rules: [{ name: 'r', expression: 'true' }] },
    );
    const unknown = ['operation', 'oldObject', 'userInfo', 'authorizer'] as const;
    const { results, allowed } = decide(set, request(database({}), { unknown }), emptyWorld(NOW));
    expect(allowed).toBe(true);
    expect(results.map(({ result }) => result)).toEqual(['skip', 'skip', 'skip']);
  });
});
