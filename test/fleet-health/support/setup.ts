/** An operator of the test's own, as a chart would render it: a Deployment, a definition and a webhook. */
import type { Operator } from '../../../src/api/index.ts';
import type { ClusterConnection, HealthTarget, Snapshot } from '../../../src/fleet/index.ts';
import type { Client, KubernetesObject, Resource, UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';

export const patient = { within: 180_000, every: 200 };

const resource = (group: string, kind: string, plural: string, namespaced = true): Resource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced,
});

export const definitions = resource(
  'apiextensions.k8s.io',
  'CustomResourceDefinition',
  'customresourcedefinitions',
  false,
);
export const deployments = resource('apps', 'Deployment', 'deployments');
export const webhookConfigurations = resource(
  'admissionregistration.k8s.io',
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
  false,
);

export interface Parts {
  readonly namespace: string;
  /** A group of its own, so that it meets no other test. */
  readonly group: string;
}

export const widgetsOf = ({ group }: Parts): Resource => resource(group, 'Widget', 'widgets');

/** What a made-up object has to meet: a field that is required, with a rule. */
export const definitionOf = ({ group }: Parts): UnknownObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['size'],
                properties: { size: { type: 'integer', minimum: 3, maximum: 99 } },
                'x-kubernetes-validations': [{ rule: 'self.size % 2 == 1', message: 'must be odd' }],
              },
              status: {
                type: 'object',
                properties: {
                  observedGeneration: { type: 'integer' },
                  conditions: {
                    type: 'array',
                    items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
});

export interface DeploymentShape {
  readonly image?: string;
  readonly replicas?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

export function deploymentOf({ namespace }: Parts, name: string, shape: DeploymentShape = {}): UnknownObject {
  const { image = 'controller:1', replicas = 2, labels = {}, limits } = shape;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name, ...labels } },
        spec: {
          containers: [
            {
              name: 'manager',
              image,
              args: ['--leader-elect'],
              ...(limits === undefined ? {} : { resources: { limits } }),
            },
          ],
        },
      },
    },
  };
}

export function webhookOf({ group, namespace }: Parts, url: string, authority: string): UnknownObject {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: `widgets.${group}` },
    webhooks: [
      {
        name: `widgets.${group}`,
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        timeoutSeconds: 20,
        clientConfig: { url, caBundle: Buffer.from(authority).toString('base64') },
        rules: [{ apiGroups: [group], apiVersions: ['v1'], resources: ['widgets'], operations: ['CREATE'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        objectSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: ['gold'] }] },
      },
    ],
  };
}

export function snapshotOf(
  { namespace }: Parts,
  manifests: readonly UnknownObject[],
  ofKinds: readonly UnknownObject[] = [],
): Snapshot {
  return {
    name: `snapshot-${manifests.length}`,
    digest: JSON.stringify(manifests),
    operator: 'widgets',
    version: '1.0.0',
    chartDigest: '',
    valuesDigest: '',
    environment: 'Dev',
    kubernetesVersion: 'v1.36.3',
    namespace,
    releaseName: 'widgets',
    definitions: ofKinds,
    manifests,
  };
}

/** Thresholds that a loaded machine meets; a test overrides those it checks. */
export function targetOf(snapshot: Snapshot, health: Operator['spec']['health'] = {}): HealthTarget {
  const webhook = { maxLatency: 'PT30S', ...health?.webhook };
  return { operator: { spec: { health: { ...health, webhook } } } as Operator, snapshot, revision: 1 };
}

export const connectionOf = (client: Client, cluster = 'here'): ClusterConnection => ({
  cluster,
  environment: 'Dev',
  kubernetesVersion: 'v1.36.3',
  client,
  withKubeconfig: () => Promise.reject(new Error('nobody asks')),
});

export const apply = (client: Client, of: Resource, object: KubernetesObject): Promise<KubernetesObject> =>
  client.apply(of, object, { fieldManager: 'test', force: true });

export async function applyDefinition(client: Client, parts: Parts): Promise<void> {
  await apply(client, definitions, definitionOf(parts));
  await eventually(() => client.list(widgetsOf(parts)), patient);
}

/** A custom resource, as its controller would have left it. */
export async function putWidget(
  client: Client,
  parts: Parts,
  name: string,
  status: { readonly behind?: boolean; readonly ready?: boolean } = {},
): Promise<void> {
  const { behind = false, ready = true } = status;
  const apiVersion = `${parts.group}/v1`;
  const metadata = { name, namespace: parts.namespace };
  const made = await apply(client, widgetsOf(parts), {
    apiVersion,
    kind: 'Widget',
    metadata,
    spec: { size: 5 },
  } as KubernetesObject);
  await client.patch(
    widgetsOf(parts),
    metadata,
    {
      type: 'merge',
      body: {
        status: {
          observedGeneration: (made.metadata.generation ?? 1) - Number(behind),
          conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', reason: 'Test', message: '' }],
        },
      },
    },
    { subresource: 'status' },
  );
}
