/** A control plane of one's own with the kinds of the platform in it: webhook configurations would catch the objects of every other test. */
import { crdFor, kinds, policy as policyKind } from '../../../src/api/index.ts';
import {
  type Client,
  connect,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import type { ClientAuthority } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import {
  type CommandResult,
  type ControlPlane,
  type ControlPlaneOptions,
  sharedCluster,
  startControlPlane,
} from '../../support/cluster.ts';
import { webhookPorts } from '../../support/webhook-ports.ts';

export const platformNamespace = 'kidp-system';

export interface Platform {
  readonly plane: ControlPlane;
  readonly client: Client;
  kubectl(flags: readonly string[], input?: string | object): Promise<CommandResult>;
  /** Options of an admission server that the API server calls with its client certificate; each call returns another port. */
  webhook(): { readonly port: number; readonly clients: ClientAuthority };
  stop(): Promise<void>;
}

const core = (kind: string, plural: string, namespaced: boolean): Resource => ({
  group: '',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
export const namespaces = core('Namespace', 'namespaces', false);
export const configMaps = core('ConfigMap', 'configmaps', true);
export const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
export const configurations = (kind: 'Mutating' | 'Validating'): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: `${kind.toLowerCase()}webhookconfigurations`,
  kind: `${kind}WebhookConfiguration`,
  namespaced: false,
});

export async function startPlatform(options: ControlPlaneOptions = {}): Promise<Platform> {
  const ports = await webhookPorts();
  const plane = await startControlPlane({ webhooks: ports.webhooks, ...options });
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  for (const kind of kinds) await client.apply(definitions, crdFor(kind), { fieldManager: 'test' });
  await Promise.all(kinds.map(({ resource }) => eventually(() => client.list(resource), { within: 180_000 })));
  for (const name of [platformNamespace, 'policy-exceptions', 'team-backend', 'team-frontend']) {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  return {
    plane,
    client,
    kubectl: (flags, input) =>
      sharedCluster().kubectl(flags, { kubeconfig: plane.kubeconfig, ...(input === undefined ? {} : { input }) }),
    webhook: () => ports.next(plane),
    async stop() {
      await client.close();
      await plane.stop();
    },
  };
}

/** A Policy of one rule. */
export function policy(
  name: string,
  resourceTypes: readonly string[],
  expression: string,
  over: { spec?: object; rule?: object; selector?: object } = {},
): UnknownObject {
  return {
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name },
    spec: {
      selector: { resourceTypes, ...over.selector },
      rules: [{ name: 'only', expression, ...over.rule }],
      ...over.spec,
    },
  };
}

export const applyPolicy = (client: Client, object: UnknownObject) =>
  client.apply(policyKind.resource, object, { fieldManager: 'test', force: true });

export const deletePolicy = (client: Client, name: string) => client.delete(policyKind.resource, { name });

export const configMap = (name: string, data: Record<string, string> = {}, over: object = {}) =>
  ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', ...over },
    data,
  }) as KubernetesObject & { data: Record<string, string> };

/** Returns the error of a dry-run creation; empty if it would be admitted. */
export async function refusal(client: Client, resource: Resource, object: KubernetesObject): Promise<string> {
  try {
    await client.create(resource, object, { dryRun: true });
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
