/**
 * The whole admission pipeline of the webhook, with the gates that read the cluster, over objects in memory: an API
 * server would answer the mutated reviews of a fuzzer a thousand times slower.
 */
import { asynchronousGates } from '../../../src/admission/gates/asynchronous.ts';
import { startComparison } from '../../../src/admission/gates/crds/comparison.ts';
import type { Comparers } from '../../../src/admission/gates/crds/index.ts';
import { admissionPipeline, type Pipeline } from '../../../src/admission/gates/pipeline.ts';
import { policyGate } from '../../../src/admission/live-policies/policy-gate.ts';
import { startPolicySource } from '../../../src/admission/live-policies/source.ts';
import {
  approval,
  broker,
  database,
  deploymentTarget,
  operator,
  policy,
  service,
  team,
} from '../../../src/api/index.ts';
import type { AskAuthorizer } from '../../../src/policy/index.ts';
import type { Client, Logger, Resource } from '../../../src/runtime/index.ts';
import { definitions, namespaces, policyCluster } from '../../support/live-policies.ts';
import type { Loose } from '../../support/memory-cluster.ts';

const widgets: Resource = {
  group: 'example.com',
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};

/** A definition whose `size` is at most `maximum`. Two Widgets are stored, of the sizes 3 and 7. */
export const widgetDefinition = (maximum: number, over: object = {}) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com', uid: 'uid-1' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      {
        ...{ name: 'v1', served: true, storage: true },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer', maximum } } } },
          },
        },
      },
    ],
    ...over,
  },
  status: { conditions: [{ type: 'Established', status: 'True' }], storedVersions: ['v1'] },
});

/** `root` may do everything, and nobody else anything. */
const ask =
  ({ username }: { username?: string }): AskAuthorizer =>
  async (questions) =>
    questions.map(() => ({ allowed: username === 'root' }));

/** Compares in this thread, whose branches are counted. */
const comparers: Comparers = {
  async take() {
    const comparison = startComparison();
    return {
      compare: async (before, after) => comparison.compare(before, after),
      add: async (list) => comparison.add(list),
      release() {},
    };
  },
  async stop() {},
};

/** Starts the pipeline. Errors that a gate answers as "cannot be determined" are passed to `log`. */
export async function startPipeline(log: Logger): Promise<Pipeline> {
  const cluster = policyCluster([widgets]);
  const home = { namespace: 'team-backend' };
  const objects: [Resource, Loose][] = [
    [
      namespaces,
      { metadata: { name: 'team-backend', uid: 'uid-2', labels: { [`${team.resource.group}/team`]: 'a' } } },
    ],
    [team.resource, { metadata: { name: 'backend-team' }, spec: { namespace: 'team-backend' } }],
    [broker.resource, { metadata: { name: 'azure', uid: 'uid-3' }, spec: { channel: 'HTTP' } }],
    [deploymentTarget.resource, { metadata: { name: 'west', uid: 'uid-4' }, spec: { brokerRef: { name: 'azure' } } }],
    [
      database.resource,
      {
        metadata: { name: 'orders', ...home },
        spec: { owner: { kind: 'Team', name: 'backend-team' }, targetRef: { name: 'west' } },
        status: { targetRef: { name: 'west', broker: 'azure' }, connectionSecret: { name: 'orders-connection' } },
      },
    ],
    [service.resource, { metadata: { name: 'web', ...home }, spec: { owner: { kind: 'Team', name: 'backend-team' } } }],
    [
      approval.resource,
      {
        metadata: { name: 'widgets' },
        spec: { subject: { kind: 'CustomResourceDefinition', name: 'widgets.example.com' }, decisions: [] },
      },
    ],
    [
      operator.resource,
      { metadata: { name: 'greeter' }, spec: { chart: { repository: 'https://charts.example.com', name: 'greeter' } } },
    ],
    [definitions, widgetDefinition(10)],
    [policy.resource, { metadata: { name: 'backed-up' }, spec: ruled('Database', 'spec.backup.enabled == true') }],
    [
      policy.resource,
      { metadata: { name: 'few-replicas' }, spec: ruled('apps/v1/Deployment', 'object.spec.replicas <= 3') },
    ],
  ];
  for (const [resource, object] of objects) cluster.put(resource, object);
  const stored = [3, 7].map((size) => ({ metadata: { name: `w-${size}`, ...home }, spec: { size } }));
  const client: Client = {
    ...cluster.client,
    async request(request) {
      if (!request.path.includes('/example.com/v1/widgets')) return cluster.client.request(request);
      const list = { kind: 'WidgetList', metadata: {}, items: stored };
      return { status: 200, headers: {}, warnings: [], text: JSON.stringify(list) };
    },
  };
  const source = startPolicySource({ client, platformNamespace: 'kidp-system', exceptionNamespaces: ['exceptions'] });
  await source.whenSynced();
  const owners = source.owners;
  const reconcilers = ['kidp'];
  const common = { client, ask: (user: object) => ask(user), owners, reconcilers, untrusted: false };
  return admissionPipeline({
    ...{ policies: source, ...common },
    asyncGates: asynchronousGates({
      ...common,
      policyGate: policyGate({ client, source, budgetMilliseconds: 200 }),
      crds: { environment: 'production' },
      comparers,
      asksAboutBreaking: (environment) => environment === 'Production',
      log,
    }),
  });
}

const ruled = (type: string, expression: string) => ({
  selector: { resourceTypes: [type] },
  rules: [{ name: 'only', expression }],
});
