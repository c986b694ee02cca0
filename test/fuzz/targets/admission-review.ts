import { isDeepStrictEqual } from 'node:util';
import type { Phase } from '../../../src/admission/gates/gate.ts';
import type { OwnerLookup } from '../../../src/admission/gates/ownership/owner-chain.ts';
import { admissionPipeline } from '../../../src/admission/gates/pipeline.ts';
import { deadlineIn } from '../../../src/admission/review/deadline.ts';
import { decodeReview } from '../../../src/admission/review/decode.ts';
import { HttpError } from '../../../src/admission/review/http-error.ts';
import { answerReview } from '../../../src/admission/server/evaluate.ts';
import { Double, decodeJson } from '../../../src/cel/index.ts';
import { compilePolicy, emptyWorld, policySet, readPolicy } from '../../../src/policy/index.ts';
import { silentLogger } from '../../../src/runtime/index.ts';
import { reviewedDatabase as database, admissionReview as review } from '../../support/review.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const owners: OwnerLookup = {
  team: async (name) => (name === 'backend-team' ? { namespace: 'team-backend' } : undefined),
  application: async () => undefined,
  teamOf: async (namespace) => (namespace === 'team-backend' ? 'backend-team' : undefined),
};

const policies = [
  { name: 'few-replicas', types: ['apps/v1/Deployment'], expression: 'object.spec.replicas <= 3' },
  { name: 'backed-up', types: ['Database'], expression: 'spec.backup.enabled == true' },
].map(({ name, types, expression }) => {
  const { model } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name },
    spec: { selector: { resourceTypes: types }, rules: [{ name: 'only', expression }] },
  });
  const { policy } = model === undefined ? {} : compilePolicy(model);
  if (policy === undefined) throw new Error(`${name} does not compile`);
  return policy;
});
const set = policySet({ policies });
const source = { current: () => ({ set, world: emptyWorld(Date.UTC(2026, 0, 1)) }), synced: () => true };
const pipeline = admissionPipeline({ policies: source, owners, reconcilers: ['kidp'] });

export const target: Target = {
  about: 'AdmissionReview: decode like JSON.parse, and answer with the uid or a 4xx',
  modules: ['src/admission/', 'src/cel/decode.ts', 'src/policy/load/', 'src/policy/mutation/', 'src/policy/match/'],
  words: [
    'managedFields',
    'object',
    'oldObject',
    'metadata',
    'labels',
    'annotations',
    'finalizers',
    'ownerReferences',
    'deletionTimestamp',
    'generateName',
    'spec',
    'status',
    'owner',
    'userInfo',
    'groups',
    'Policy',
    'PolicyException',
    'Approval',
    'Team',
    'Broker',
    'Operator',
    'Cluster',
    'CustomResourceDefinition',
    'apiextensions.k8s.io',
    'Namespace',
    'platform.company.com/team',
    '__proto__',
    'constructor',
    'toString',
    'kidp',
  ],
  isJson: true,
  seeds: () =>
    [
      review({ object: database('backend-team'), oldObject: database('backend-team', false) }),
      review({ operation: 'CREATE', object: database('backend-team'), oldObject: null }),
      review({ operation: 'DELETE', oldObject: database('backend-team') }),
      review({ subResource: 'status', object: database('other-team'), oldObject: database('backend-team') }),
      review({
        kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
        resource: { group: 'apps', version: 'v1', resource: 'deployments' },
        operation: 'CREATE',
        object: {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata: {
            name: 'web',
            managedFields: [{ manager: 'm', fieldsV1: { [`f:${'x'.repeat(200)}`]: { '.': {} } } }],
          },
          spec: { replicas: 5 },
        },
      }),
      ...[
        {
          kind: 'Policy',
          spec: {
            selector: { resourceTypes: ['Pod'] },
            rules: [{ name: 'r', expression: 'object.spec.x == 1', message: 'm' }],
            mutations: [{ name: 'm', set: { 'spec.a': 1 } }],
          },
        },
        { kind: 'Approval', spec: { request: { kind: 'Database', name: 'orders' }, approvedBy: 'eve' } },
        { kind: 'Team', spec: { namespace: 'team-backend' } },
        { kind: 'Operator', spec: { chart: { repository: 'https://charts.example.com', name: 'a' } } },
        {
          kind: 'Service',
          spec: {
            owner: { kind: 'Team', name: 'backend-team' },
            image: 'a',
            sharedWith: ['*'],
            env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }],
          },
        },
      ].map(({ kind, spec }) =>
        review({
          kind: { group: 'platform.company.com', version: 'v1', kind },
          resource: { group: 'platform.company.com', version: 'v1', resource: `${kind.toLowerCase()}s` },
          operation: 'CREATE',
          object: {
            apiVersion: 'platform.company.com/v1',
            kind,
            metadata: { name: 'a', namespace: 'team-backend' },
            spec,
          },
        }),
      ),
    ].map((each) => JSON.stringify(each)),
  async run(input) {
    const text = input.toString('utf8');
    compareDecoders(text);
    for (const phase of ['mutate', 'validate'] satisfies Phase[]) {
      try {
        const { body } = await answerReview(text, { phase }, deadlineIn(30_000), { pipeline, log: silentLogger });
        const { response } = JSON.parse(body);
        const decoded = decodeReview(text);
        ensure('request' in decoded && response.uid === decoded.request.uid, 'the response has the uid of the request');
        ensure(typeof response.allowed === 'boolean', 'the response says whether it is allowed');
        ensure(response.allowed || response.status.message !== '', 'a denial has a message');
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        ensure(error.status >= 400 && error.status < 500, 'a review is never answered with a 5xx', () => error.message);
      }
    }
  },
};

/** Our decoder accepts what JSON.parse accepts and means the same, but for numbers that do not fit, and for depth. */
function compareDecoders(text: string): void {
  let known: unknown;
  let isJson = true;
  try {
    known = JSON.parse(text);
  } catch {
    isJson = false;
  }
  let decoded: unknown;
  try {
    decoded = plain(decodeJson(text));
  } catch (error) {
    const isLimit = /out of range|nested deeper/.test((error as Error).message);
    ensure(!isJson || isLimit, 'what JSON.parse accepts is decoded', () => (error as Error).message);
    return;
  }
  ensure(isJson, 'only JSON is decoded');
  ensure(
    isDeepStrictEqual(decoded, plain(known)),
    'JSON is decoded as JSON.parse does',
    () => `${JSON.stringify(decoded)} / ${JSON.stringify(known)}`,
  );
}

/** Numbers as JSON.parse has them, but that -0 is 0: both are one int. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Double) return value.value;
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value;
  if (Array.isArray(value)) return value.map(plain);
  return Object.defineProperties(
    {},
    Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        key,
        { value: plain(each), enumerable: true, writable: true, configurable: true },
      ]),
    ),
  );
}
