/** kidp with its policies in a control plane of its own: webhook configurations are the cluster's, so tests cannot share one. */
import { type Policy, policy, policyException } from '../../../src/api/index.ts';
import { installDefinitions } from '../../../src/cli/up/definitions.ts';
import { addNamespaces } from '../../../src/cli/up/starter-policies.ts';
import {
  type Cleanup,
  createCleanup,
  type Platform,
  type PlatformOptions,
  startPlatform,
} from '../../../src/platform/index.ts';
import { type Client, type Condition, connect, getCondition, loadKubeconfig } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import {
  type CommandResult,
  type ControlPlane,
  type KubectlOptions,
  sharedCluster,
  startControlPlane,
} from '../../support/cluster.ts';
import { webhookPorts } from '../../support/webhook-ports.ts';

export interface PolicyPlane {
  readonly plane: ControlPlane;
  readonly client: Client;
  /** Resolves whatever the exit code is. */
  kubectl(flags: readonly string[], options?: KubectlOptions): Promise<CommandResult>;
  /** Another replica, or the first. */
  start(options?: Partial<PlatformOptions>): Promise<Platform & { stop(): Promise<void> }>;
  /** Options of a platform that the API server calls with its client certificate; of one at a time, or of replicas that share the port. */
  readonly webhook: Required<Pick<PlatformOptions, 'port' | 'clients'>>;
  status(name: string): Promise<Policy['status']>;
  condition(name: string, type: string): Promise<Condition | undefined>;
  untilReady(name: string): Promise<void>;
  /** Ends the replicas that were started, and takes all policies and their exceptions away: for whoever comes next. */
  clear(): Promise<void>;
  stop(): Promise<void>;
}

export const platformNamespace = 'kidp-system';
/** A machine that does much else at the same time. */
export const patient = { within: 180_000, every: 100 };

export async function startPolicyPlane(): Promise<PolicyPlane> {
  const ports = await webhookPorts(64);
  const plane = await startControlPlane({ webhooks: ports.webhooks });
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  await installDefinitions(client);
  await addNamespaces(client, [platformNamespace, 'policy-exceptions']);
  const undos: Cleanup[] = [];
  const end = async () => {
    for (const undo of undos.splice(0).reverse()) await undo.run();
  };
  const status = async (name: string) => (await client.get<Policy>(policy.resource, { name })).status;
  const condition = async (name: string, type: string) =>
    getCondition((await status(name))?.conditions as Condition[] | undefined, type);
  return {
    plane,
    client,
    webhook: ports.next(plane),
    status,
    condition,
    kubectl: (flags, options) => sharedCluster().kubectl(flags, { kubeconfig: plane.kubeconfig, ...options }),
    async start(options = {}) {
      const undo = createCleanup();
      undos.push(undo);
      const scan = { settleMilliseconds: 100 };
      const platform = await startPlatform(
        { client, platformNamespace, failurePolicy: 'Fail', scan, ...ports.next(plane), ...options },
        undo,
      );
      return { ...platform, stop: async () => void (await undo.run()) };
    },
    untilReady: async (name) =>
      void (await eventually(async () => (await condition(name, 'Ready'))?.status === 'True', patient)),
    async clear() {
      await end();
      for (const { resource } of [policy, policyException]) {
        for (const { metadata } of (await client.list(resource)).items) await client.delete(resource, metadata);
      }
    },
    async stop() {
      await end();
      await client.close();
      await plane.stop();
    },
  };
}

export const policyObject = (name: string, spec: object) => ({
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name },
  spec,
});
