import { isDeepStrictEqual } from 'node:util';
import type { Phase } from '../../../src/admission/gates/gate.ts';
import { deadlineIn } from '../../../src/admission/review/deadline.ts';
import { decodeReview } from '../../../src/admission/review/decode.ts';
import { HttpError } from '../../../src/admission/review/http-error.ts';
import { answerReview } from '../../../src/admission/server/evaluate.ts';
import { Double, decodeJson } from '../../../src/cel/index.ts';
import { type Logger, silentLogger } from '../../../src/runtime/index.ts';
import { reviewedDatabase as database, admissionReview as review } from '../../support/review.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';
import { startPipeline, widgetDefinition } from '../support/pipeline.ts';

const log: Logger = {
  ...silentLogger,
  error(message, { error } = {}) {
    failures.push(error instanceof Error ? error : new Error(message));
  },
  with: () => log,
};
/** What gates logged about the current review: an answer hides it. */
const failures: Error[] = [];
const pipeline = await startPipeline(log);

export const target: Target = {
  about: 'AdmissionReview: decode like JSON.parse, and pass all gates to an answer with the uid, or a 4xx',
  modules: ['src/admission/', 'src/cel/decode.ts', 'src/policy/load/', 'src/policy/mutation/', 'src/policy/match/'],
  mostBytes: 8_192,
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
    'root',
    'uid-1',
    'uid-2',
    'uid-3',
    'orders-connection',
    'widgets.example.com',
    'platform.company.com/abandon-cleanup',
    'platform.company.com/confirm-delete',
    'DELETE',
    'secretKeyRef',
    'openAPIV3Schema',
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
      ...clusterReviews(),
    ].map((each) => JSON.stringify(each)),
  async run(input) {
    const text = input.toString('utf8');
    compareDecoders(text);
    failures.length = 0;
    for (const phase of ['mutate', 'validate'] satisfies Phase[]) {
      try {
        const { body } = await answerReview(text, { phase }, deadlineIn(30_000), { pipeline, log });
        const { response } = JSON.parse(body);
        const decoded = decodeReview(text);
        ensure('request' in decoded && response.uid === decoded.request.uid, 'the response has the uid of the request');
        ensure(typeof response.allowed === 'boolean', 'the response says whether it is allowed');
        ensure(response.allowed || response.status.message !== '', 'a denial has a message');
        const [failure] = failures;
        if (failure !== undefined) throw failure;
      } catch (error) {
        if (!(error instanceof HttpError)) throw error;
        ensure(error.status >= 400 && error.status < 500, 'a review is never answered with a 5xx', () => error.message);
      }
    }
  },
};

/** Reviews that the asynchronous gates decide. */
function clusterReviews(): object[] {
  const of = (group: string, kind: string, more: object) =>
    review({
      kind: { group, version: 'v1', kind },
      resource: { group, version: 'v1', resource: `${kind.toLowerCase()}s` },
      ...more,
    });
  const ours = (
    kind: string,
    operation: string,
    { metadata = {}, spec = {}, old = undefined as object | undefined },
  ) => {
    const object = { apiVersion: 'platform.company.com/v1', kind, metadata: { name: 'a', ...metadata }, spec };
    const before = old === undefined ? null : { ...object, metadata: { name: 'a', uid: 'uid-3' }, spec: old };
    return of('platform.company.com', kind, {
      ...{ operation, name: 'a', object: operation === 'DELETE' ? null : object, oldObject: before },
    });
  };
  const root = { userInfo: { username: 'root', groups: ['system:masters'] } };
  const home = (name: string, labels: object, annotations: object = {}) => ({
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: 'uid-2', labels, annotations } },
  });
  const definition = (more: object) =>
    of('apiextensions.k8s.io', 'CustomResourceDefinition', { name: 'widgets.example.com', ...more });
  const chart = { repository: 'https://charts.example.com', name: 'greeter' };
  const team = { kind: 'Team', name: 'backend-team' };
  return [
    definition({ object: widgetDefinition(5), oldObject: widgetDefinition(10) }),
    definition({ object: widgetDefinition(5), oldObject: widgetDefinition(10), ...root }),
    definition({ object: widgetDefinition(20), oldObject: widgetDefinition(10) }),
    definition({ operation: 'CREATE', object: widgetDefinition(20), oldObject: null }),
    definition({ operation: 'DELETE', object: null, oldObject: widgetDefinition(10) }),
    of('', 'Namespace', {
      name: 'team-backend',
      operation: 'DELETE',
      object: null,
      oldObject: home('team-backend', {}),
    }),
    of('', 'Namespace', {
      name: 'team-backend',
      object: home('team-backend', { 'platform.company.com/team': 'other' }),
      oldObject: home('team-backend', {}, { 'platform.company.com/confirm-delete': 'uid-2' }),
    }),
    ours('Broker', 'DELETE', { old: { channel: 'HTTP' } }),
    ours('DeploymentTarget', 'DELETE', { old: { brokerRef: { name: 'azure' } } }),
    ours('Service', 'UPDATE', {
      metadata: { namespace: 'team-backend', annotations: { 'platform.company.com/abandon-cleanup': 'uid-3' } },
      spec: {
        owner: team,
        image: 'a:1',
        env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'orders-connection', key: 'k' } } }],
        loadBalancer: { tls: { secretName: 'orders-connection' }, hosts: ['a.example.com'] },
      },
      old: { owner: team, image: 'a:1' },
    }),
    ours('Policy', 'UPDATE', {
      spec: {
        selector: { resourceTypes: ['Database', 'core/v1/Secret'] },
        rules: [{ name: 'r', expression: 'object.spec.backup.enabled', message: 'm' }],
        tests: [
          {
            name: 't',
            object: { apiVersion: 'platform.company.com/v1', kind: 'Database', spec: {} },
            expect: { allowed: false },
          },
        ],
      },
      old: {},
    }),
    ours('PolicyException', 'CREATE', {
      spec: {
        policies: [{ name: 'backed-up', rules: ['only', 'other'] }],
        match: { resourceTypes: ['Database'] },
        reason: 'r',
        expiresAt: '2027-01-01T00:00:00Z',
      },
    }),
    ours('Approval', 'UPDATE', {
      spec: {
        subject: { kind: 'CustomResourceDefinition', name: 'widgets.example.com', digest: 'sha256:0' },
        decisions: [{ user: 'ada', decision: 'Approved' }],
      },
      old: { subject: { kind: 'CustomResourceDefinition', name: 'widgets.example.com', digest: 'sha256:0' } },
    }),
    ours('Operator', 'UPDATE', { spec: { chart, values: { a: 1 } }, old: { chart } }),
    ours('OperatorDeployment', 'CREATE', {
      spec: { operatorRef: { name: 'greeter' }, version: '1.2.3', clusters: {} },
    }),
  ];
}

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
