/**
 * What is on each simulated cluster, and the snapshots that say what should be: every operator alike, in a namespace of
 * its own.
 */
import type { Snapshot } from '../../src/fleet/index.ts';
import type { UnknownObject } from '../../src/runtime/index.ts';
import { issueAuthority } from '../../src/runtime/internal.ts';

const customResources = 20;

export const operatorName = (number: number): string => `operator-${number}`;

/** The operator that a kind belongs to. */
export const operatorOf = (group: string): string => group.replace(/\.test$/, '');

/** The lists of an API server, by the plural of their kind, as it would send them. */
export function listsOf(operators: number): ReadonlyMap<string, string> {
  const numbers = Array.from({ length: operators }, (_, number) => number);
  const lists: [string, readonly object[]][] = [
    ['deployments', numbers.map(liveDeployment)],
    ['pods', numbers.flatMap(podsOf)],
    ['validatingwebhookconfigurations', numbers.map(webhookOf)],
    ['namespaces', numbers.map((number) => ({ metadata: { name: operatorName(number), labels: {} } }))],
    ['endpointslices', numbers.map(endpointsOf)],
    ...numbers.map((number): [string, readonly object[]] => [`widgets${number}`, widgetsOf(number)]),
  ];
  return new Map(
    lists.map(([plural, items]) => [
      plural,
      JSON.stringify({ apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '1' }, items }),
    ]),
  );
}

function templateOf(number: number) {
  return {
    metadata: { labels: { app: operatorName(number) } },
    spec: { containers: [{ name: 'manager', image: 'controller:1', args: ['--leader-elect'] }] },
  };
}

const liveDeployment = (number: number) => ({
  metadata: { name: 'controller', namespace: operatorName(number), generation: 1 },
  spec: { replicas: 2, template: templateOf(number) },
  status: {
    observedGeneration: 1,
    replicas: 2,
    updatedReplicas: 2,
    availableReplicas: 2,
    conditions: [{ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' }],
  },
});

const podsOf = (number: number) =>
  [1, 2].map((copy) => ({
    metadata: {
      name: `controller-77f-${copy}`,
      namespace: operatorName(number),
      uid: `${number}-${copy}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: operatorName(number), 'pod-template-hash': '77f' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'controller-77f', uid: 'r', controller: true },
      ],
    },
    spec: templateOf(number).spec,
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'manager', restartCount: 0, ready: true, state: { running: {} } }],
    },
  }));

const authority = Buffer.from(
  issueAuthority({ now: Date.now(), validMilliseconds: 86_400_000, backdateMilliseconds: 60_000 }).certificate,
).toString('base64');

const webhookOf = (number: number) => ({
  metadata: { name: operatorName(number) },
  webhooks: [
    {
      name: `widgets.${operatorName(number)}.test`,
      sideEffects: 'None',
      clientConfig: { service: { name: 'webhook', namespace: operatorName(number) }, caBundle: authority },
      rules: [
        {
          apiGroups: [`${operatorName(number)}.test`],
          apiVersions: ['v1'],
          resources: [`widgets${number}`],
          operations: ['CREATE', 'UPDATE'],
        },
      ],
    },
  ],
});

const endpointsOf = (number: number) => ({
  metadata: {
    name: 'webhook-1',
    namespace: operatorName(number),
    labels: { 'kubernetes.io/service-name': 'webhook' },
  },
  endpoints: [{ conditions: { ready: true } }],
});

const widgetsOf = (number: number) =>
  Array.from({ length: customResources }, (_, index) => ({
    metadata: { name: `widget-${index}`, namespace: 'team', uid: `${number}-${index}`, generation: 2 },
    spec: { size: 3, description: 'as long as custom resources are, which is some hundreds of characters '.repeat(4) },
    status: { observedGeneration: 2, conditions: [{ type: 'Ready', status: 'True', reason: 'Done', message: '' }] },
  }));

export function snapshotOf(number: number): Snapshot {
  const group = `${operatorName(number)}.test`;
  const plural = `widgets${number}`;
  const manifest = (apiVersion: string, kind: string, object: object) =>
    ({ apiVersion, kind, ...object }) as unknown as UnknownObject;
  return {
    name: `snapshot-${number}`,
    digest: `${number}`,
    operator: operatorName(number),
    version: '1.0.0',
    chartDigest: '',
    valuesDigest: '',
    environment: 'Dev',
    kubernetesVersion: 'v1.36.3',
    namespace: operatorName(number),
    releaseName: operatorName(number),
    manifests: [
      manifest('apps/v1', 'Deployment', liveDeployment(number)),
      manifest('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', webhookOf(number)),
    ],
    definitions: [
      manifest('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
        metadata: { name: `${plural}.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural, singular: `widget${number}`, kind: `Widget${number}`, listKind: `Widget${number}List` },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              subresources: { status: {} },
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: {
                    spec: {
                      type: 'object',
                      properties: { size: { type: 'integer' }, description: { type: 'string' } },
                    },
                    status: { type: 'object', properties: { observedGeneration: { type: 'integer' } } },
                  },
                },
              },
            },
          ],
        },
      }),
    ],
  };
}
