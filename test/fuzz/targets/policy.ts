import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import {
  compileException,
  compilePolicy,
  decide,
  emptyWorld,
  isNative,
  type Json,
  mutate,
  policySet,
  readException,
  readNative,
  readPolicy,
} from '../../../src/policy/index.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const packs = join(import.meta.dirname, '..', '..', '..', 'policies');
const world = emptyWorld(Date.UTC(2026, 0, 1));
const request = {
  uid: '1',
  kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
  resource: { group: 'apps', version: 'v1', resource: 'deployments' },
  operation: 'CREATE',
  namespace: 'default',
  userInfo: { username: 'ada', groups: ['g'] },
  object: {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default', labels: { app: 'web' } },
    spec: { replicas: 5, template: { spec: { containers: [{ name: 'a', image: 'b:1' }] } } },
  },
} as const;

const policy = (spec: object) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'p' },
  spec,
});
const types = { resourceTypes: ['apps/v1/Deployment'] };

export const target: Target = {
  about: 'Policies: Policy, PolicyException and native policies, from read to decision',
  modules: ['src/policy/'],
  isJson: true,
  mostBytes: 8_192,
  words: [
    'selector',
    'resourceTypes',
    'rules',
    'expression',
    'messageExpression',
    'mutations',
    'variables',
    'matchConditions',
    'enforcement',
    'enforceAfter',
    'failurePolicy',
    'podControllers',
    'params',
    'context',
    'tests',
    'object.spec.replicas',
    '*',
    '__proto__',
    'constructor',
    '2026-02-30',
    'Deployment',
    'apps/v1/Deployment',
  ],
  seeds: () => [
    ...readdirSync(packs, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.yaml'))
      .flatMap((file) => readFileSync(join(packs, file), 'utf8').split(/^---$/m))
      .map((text) => parse(text) as { spec?: { tests?: unknown } } | null)
      // Embedded tests are most of a policy, and are not read here.
      .map((each) => JSON.stringify(each === null ? {} : { ...each, spec: { ...each.spec, tests: [] } })),
    JSON.stringify(
      policy({
        selector: types,
        rules: [
          {
            name: 'r',
            expression: 'object.spec.replicas <= 3',
            messageExpression: '"a" + string(object.spec.replicas)',
            enforcement: 'Warn',
          },
        ],
        variables: [{ name: 'v', expression: 'object.spec' }],
      }),
    ),
    JSON.stringify(
      policy({
        selector: { ...types, operations: ['CREATE'], namespaces: ['default'] },
        mutations: [
          { name: 'm', set: { 'spec.replicas': 1 } },
          { name: 'n', applyConfiguration: { expression: 'Object{spec: Object.spec{replicas: 2}}' } },
        ],
      }),
    ),
    JSON.stringify({
      apiVersion: 'platform.company.com/v1',
      kind: 'PolicyException',
      metadata: { name: 'e', namespace: 'default' },
      spec: {
        policies: [{ name: 'p', rules: ['r'] }],
        match: types,
        reason: 'because',
        expiresAt: '2027-01-01T00:00:00Z',
      },
    }),
    JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'v' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['deployments'] },
          ],
        },
        validations: [{ expression: 'object.spec.replicas <= 3' }],
      },
    }),
  ],
  run(input) {
    let object: Json;
    try {
      object = JSON.parse(input.toString('utf8')) as Json;
    } catch {
      return;
    }
    if (typeof object !== 'object' || object === null || Array.isArray(object)) return;
    const read = readException(object);
    ensure(
      read.issues.every(({ message }) => message !== ''),
      'an issue of an exception has a message',
    );
    const exception = read.exception === undefined ? undefined : compileException(read.exception).exception;
    const native = isNative(object) ? readNative([object, bindingOf(object)]).models : [];
    const { model, issues } = readPolicy(object);
    ensure(model !== undefined || issues.length > 0, 'a policy that cannot be read has an issue');
    ensure(
      issues.every(({ message }) => message !== ''),
      'an issue has a message',
    );
    const models = model === undefined ? native : [model, ...native];
    const set = policySet({
      policies: models.map((each) => compilePolicy(each).policy).filter((each) => each !== undefined),
      exceptions: exception === undefined ? [] : [exception],
    });
    const { allowed, results } = decide(set, request, world);
    const denied = results.filter(({ denies }) => denies);
    ensure(allowed || denied.length > 0, 'a denial has a reason', () => JSON.stringify(results));
    mutate(set, request, world);
  },
};

/** A native policy has no effect without a binding. */
function bindingOf({ apiVersion, kind, metadata }: Json): Json {
  const { name } = (typeof metadata === 'object' && metadata !== null ? metadata : {}) as { name?: unknown };
  const spec = { policyName: name, validationActions: ['Deny'] };
  return { apiVersion, kind: `${String(kind)}Binding`, metadata: { name: 'b' }, spec };
}
