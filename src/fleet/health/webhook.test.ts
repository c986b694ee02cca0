/** The verdict for each response of an API server to a dry run. On a real one: test/fleet-health. */
import { describe, expect, it } from 'vitest';
import { ApiError, type Client, ConnectionError, systemClock, type UnknownObject } from '../../runtime/index.ts';
import { issueAuthority } from '../../runtime/internal.ts';
import type { HealthState } from '../contract.ts';
import type { ClusterObjects } from './objects.ts';
import type { HealthProfile } from './profile.ts';
import type { Webhook } from './shapes.ts';
import { Stopwatch } from './stopwatch.ts';
import type { WebhookThresholds } from './thresholds.ts';
import { checkWebhooks } from './webhook.ts';

const widgets = { group: 'test', version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true };
const example = { apiVersion: 'test/v1', kind: 'Widget', metadata: { name: 'probe' }, spec: { size: 1 } };
const copy = {
  ...example,
  metadata: { name: 'real', namespace: 'team', finalizers: ['test/keep'] },
  spec: { size: 7 },
};
const rule = { apiGroups: ['test'], apiVersions: ['*'], resources: ['widgets'], operations: ['CREATE'] };
const hour = 3_600_000;

interface Situation {
  readonly webhook?: Webhook;
  readonly missing?: boolean;
  readonly endpoints?: readonly object[];
  /** Consecutive answers. */
  readonly answers?: readonly unknown[];
  readonly withExample?: boolean;
  readonly custom?: readonly object[];
  readonly thresholds?: Partial<WebhookThresholds>;
  readonly profile?: Partial<HealthProfile>;
}

async function check(situation: Situation) {
  const { webhook = {}, missing = false, endpoints = [], answers = [], withExample = true, custom = [] } = situation;
  const tried: UnknownObject[] = [];
  const configuration = {
    metadata: { name: 'widgets' },
    webhooks: [{ name: 'widgets.test', sideEffects: 'None', rules: [rule], ...webhook }],
  };
  const objects: ClusterObjects = {
    get: async <T>({ plural }: { plural: string }, { name }: { name: string }) => {
      if (plural === 'namespaces') return { metadata: { name, labels: { name } } } as T;
      return (missing ? undefined : configuration) as T | undefined;
    },
    list: async <T>({ plural }: { plural: string }) =>
      (plural === 'endpointslices'
        ? endpoints
        : [{ metadata: { name: 'other', labels: {} } }]) as unknown as readonly T[],
    some: async () => custom as never,
    podsByWorkload: async () => new Map(),
    eachCustomResource: async () => {},
  };
  const client: Pick<Client, 'create'> = {
    create: async (_resource, object, options) => {
      options?.onSent?.();
      const answer = answers[tried.length];
      tried.push(object as unknown as UnknownObject);
      if (answer !== undefined) throw answer;
      return object;
    },
  };
  const profile: HealthProfile = {
    namespace: 'operators',
    workloads: [],
    webhooks: [{ kind: 'ValidatingWebhookConfiguration', name: 'widgets' }],
    kinds: [
      {
        definition: 'widgets.test',
        resource: widgets,
        countsGenerations: true,
        reportsGeneration: true,
        ...(withExample ? { example } : {}),
      },
    ],
    ...situation.profile,
  };
  const thresholds = { enabled: true, maxLatencyMilliseconds: 60_000, ...situation.thresholds };
  const stopwatch = new Stopwatch(systemClock);
  const found = await checkWebhooks({ objects, client, profile, thresholds, clock: systemClock, stopwatch });
  return { found, tried };
}

const refused = (status: number, message: string) =>
  new ApiError({ doing: 'create widgets', status, reason: 'X', message });
const invalid = refused(422, 'Widget "x" is invalid: spec.size: must be odd');
const unanswered = (why: string) =>
  refused(
    500,
    `Internal error occurred: failed calling webhook "widgets.test": failed to call webhook: Post "https://10.0.0.1:443/?timeout=10s": ${why}`,
  );
const late = new ConnectionError({ doing: 'create', failure: 'timeout', message: 'late', hint: '' });
const service = { clientConfig: { service: { name: 'webhook', namespace: 'operators' } } };
const slice = (ready: boolean) => ({
  metadata: { name: 'a', labels: { 'kubernetes.io/service-name': 'webhook' } },
  endpoints: [{ conditions: { ready } }],
});
const bundle = (now: number) =>
  Buffer.from(issueAuthority({ now, validMilliseconds: hour, backdateMilliseconds: 0 }).certificate).toString('base64');

describe('a webhook', () => {
  const rows: { reason: string; situation: Situation; state: HealthState; says?: RegExp }[] = [
    { reason: 'answers', situation: {}, state: 'Healthy' },
    {
      reason: 'refuses, which is an answer',
      situation: { answers: [refused(403, 'admission webhook "widgets.test" denied the request: no')] },
      state: 'Healthy',
    },
    { reason: 'does not exist', situation: { missing: true }, state: 'Unhealthy', says: /does not exist/ },
    {
      reason: 'cannot be reached',
      situation: { answers: [unanswered('dial tcp 10.0.0.1:443: connect: connection refused')] },
      state: 'Unhealthy',
      says: /is unreachable for the API server/,
    },
    {
      reason: 'is cut off by the API server',
      situation: { answers: [unanswered('context deadline exceeded')] },
      state: 'Unhealthy',
      says: /timed out/,
    },
    {
      reason: 'keeps the API server waiting',
      situation: { answers: [late], thresholds: { maxLatencyMilliseconds: 0 } },
      state: 'Unhealthy',
      says: /a dry run timed out/,
    },
    {
      reason: 'takes longer than it may',
      situation: { thresholds: { maxLatencyMilliseconds: 0 } },
      state: 'Unhealthy',
      says: /took 0 ms or longer/,
    },
    {
      reason: 'is not trusted',
      situation: {
        answers: [unanswered('tls: failed to verify certificate: x509: certificate signed by unknown authority')],
      },
      state: 'Unhealthy',
      says: /does not trust/,
    },
    {
      reason: 'answers with something else',
      situation: { answers: [unanswered('expected webhook response of admission.k8s.io/v1, got text')] },
      state: 'Unhealthy',
      says: /returns an invalid response/,
    },
    {
      reason: 'has no pod behind its Service',
      situation: { webhook: service },
      state: 'Unhealthy',
      says: /has no ready endpoints/,
    },
    {
      reason: 'has only pods that are not ready',
      situation: { webhook: service, endpoints: [slice(false)] },
      state: 'Unhealthy',
      says: /has no ready endpoints/,
    },
    { reason: 'has a pod', situation: { webhook: service, endpoints: [slice(false), slice(true)] }, state: 'Healthy' },
    {
      reason: 'has a bundle of one expired and one good certificate, in the middle of a rotation',
      situation: {
        webhook: {
          clientConfig: {
            caBundle: Buffer.concat([
              Buffer.from(bundle(Date.now() - 9 * hour), 'base64'),
              Buffer.from(bundle(Date.now() - 1000), 'base64'),
            ]).toString('base64'),
          },
        },
      },
      state: 'Healthy',
    },
    {
      reason: 'has a bundle that is not valid yet',
      situation: { webhook: { clientConfig: { caBundle: bundle(Date.now() + hour) } } },
      state: 'Unhealthy',
      says: /not valid yet/,
    },
    {
      reason: 'has a bundle that is none',
      situation: { webhook: { clientConfig: { caBundle: Buffer.from('nonsense').toString('base64') } } },
      state: 'Unhealthy',
      says: /contains no readable certificate/,
    },
    {
      reason: 'may have side effects, so Kubernetes allows no dry run',
      situation: { webhook: { sideEffects: 'Unknown' } },
      state: 'NotChecked',
      says: /side effects/,
    },
    {
      reason: 'is asked only about updates',
      situation: { webhook: { rules: [{ ...rule, operations: ['UPDATE'] }] } },
      state: 'NotChecked',
      says: /spec\.health\.webhook\.probe/,
    },
    {
      reason: 'is for a kind of which no object is known',
      situation: { withExample: false },
      state: 'NotChecked',
      says: /spec\.health\.webhook\.probe/,
    },
    {
      reason: 'must not be called by the observer',
      situation: { answers: [refused(403, 'widgets is forbidden: User "x" cannot create'), invalid], custom: [copy] },
      state: 'NotChecked',
      says: /was not called/,
    },
    {
      reason: 'is for a kind that is not served',
      situation: { answers: [refused(404, 'the server could not find the requested resource')] },
      state: 'Unhealthy',
      says: /not served/,
    },
    {
      reason: 'cannot be judged, the API server is busy',
      situation: { answers: [refused(503, 'busy')] },
      state: 'Unknown',
    },
    { reason: 'is not to be looked at', situation: { thresholds: { enabled: false } }, state: 'NotChecked' },
    { reason: 'is not part of the operator', situation: { profile: { webhooks: [] } }, state: 'NotChecked' },
    {
      reason: 'is for labels that no object can have',
      situation: {
        webhook: {
          objectSelector: { matchLabels: { a: '1' }, matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] },
        },
      },
      state: 'NotChecked',
      says: /no object can have/,
    },
    {
      reason: 'is for no namespace',
      situation: { webhook: { namespaceSelector: { matchLabels: { never: '1' } } } },
      state: 'NotChecked',
      says: /no existing namespace/,
    },
  ];
  for (const { reason, situation, state, says = /^/ } of rows) {
    it(`is ${state} where it ${reason}`, async () => {
      const { found } = await check(situation);
      expect(found.state).toBe(state);
      expect(found.message ?? '').toMatch(says);
    });
  }

  it('is called with a copy of an existing object if the generated one is rejected', async () => {
    const { found, tried } = await check({ answers: [invalid], custom: [copy] });
    expect(found.state).toBe('Healthy');
    expect(tried.map(({ spec }) => spec)).toEqual([example.spec, copy.spec]);
    expect(tried[1]?.metadata).toEqual({ generateName: 'kidp-probe-', namespace: 'team' });
  });

  it('is called with the probe of the Operator', async () => {
    const manifest = 'spec: {size: 9}\nmetadata: {labels: {mine: "yes"}}';
    const probe = { apiVersion: 'test/v1', kind: 'Widget', manifest };
    const { tried } = await check({ thresholds: { probe } });
    expect(tried).toEqual([
      {
        apiVersion: 'test/v1',
        kind: 'Widget',
        metadata: { generateName: 'kidp-probe-', namespace: 'operators', labels: { mine: 'yes' } },
        spec: { size: 9 },
      },
    ]);
  });

  it('is called with a common kind if the Operator declares it', async () => {
    const { tried } = await check({ thresholds: { probe: { apiVersion: 'v1', kind: 'ConfigMap' } } });
    expect(tried).toMatchObject([{ apiVersion: 'v1', kind: 'ConfigMap' }]);
  });

  for (const [reason, probe] of [
    ['no object', { apiVersion: 'v1', kind: 'ConfigMap', manifest: '- secret-word' }],
    ['nothing that can be read', { apiVersion: 'v1', kind: 'ConfigMap', manifest: '{secret-word: [' }],
    ['of a kind that nobody knows', { apiVersion: 'v9', kind: 'Gadget' }],
  ] as const) {
    it(`is not tried with a probe that is ${reason}, and nothing of it is quoted`, async () => {
      const { found } = await check({ thresholds: { probe } });
      expect(found).toMatchObject({
        state: 'NotChecked',
        message: expect.stringContaining('spec.health.webhook.probe'),
      });
      expect(found.message).not.toContain('secret-word');
    });
  }

  it('is called once for all webhooks that match an object', async () => {
    const two = [1, 2].map((number) => ({
      kind: 'ValidatingWebhookConfiguration' as const,
      name: `widgets-${number}`,
    }));
    expect((await check({ profile: { webhooks: two } })).tried).toHaveLength(1);
  });
});
