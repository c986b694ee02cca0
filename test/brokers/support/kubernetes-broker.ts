/** Brokers of the shared cluster, each with a platform of its own, and a client whose watches can be held back. */
import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { expect } from 'vitest';
import { type BrokerOptions, kubernetesProvider, type RunningBroker, startBroker } from '../../../src/broker/index.ts';
import { type Client, connect, loadKubeconfig, type Resource, type UnknownObject } from '../../../src/runtime/index.ts';
import { uniqueName } from '../../support/cluster.ts';
import { brokerKeys, log, type ResourceSketch, startTestPlatform, type TestPlatform } from './platform.ts';

export interface BrokerOnStage {
  readonly name: string;
  readonly platform: TestPlatform;
  readonly url: string;
  readonly running: RunningBroker;
  /** Asks, and waits for the newest report to have this phase. */
  ask(
    resource: ResourceSketch,
    phase: string,
    more?: Parameters<TestPlatform['request']>[1],
  ): ReturnType<TestPlatform['untilPhase']>;
  stop(): Promise<void>;
}

export const idOf = ({ uid, generation = 1, attempt = 0 }: ResourceSketch) => `${uid}/${generation}/${attempt}`;

export const sketchIn =
  (namespace: () => string) =>
  (kind: ResourceSketch['kind'], spec: Record<string, unknown>): ResourceSketch => ({
    kind,
    namespace: namespace(),
    name: uniqueName('thing'),
    uid: randomUUID(),
    spec,
  });

export async function startKubernetesBroker(options: {
  readonly kubeconfig: string;
  /** Where its records are. */
  readonly namespace: string;
  readonly through?: (client: Client) => Client;
  readonly prices?: BrokerOptions['prices'];
}): Promise<BrokerOnStage> {
  const { through = (client) => client } = options;
  const name = uniqueName('onprem');
  const keys = await brokerKeys(name);
  const platform = await startTestPlatform(name, keys);
  const config = loadKubeconfig({ file: options.kubeconfig });
  const running = await startBroker({
    name,
    provider: kubernetesProvider({
      broker: name,
      client: through(connect(config)),
      leaseClient: connect(config),
      namespace: options.namespace,
      decrypt: (jwe) => keys.decrypt(jwe),
      log,
    }),
    keys,
    platform: { jwks: () => platform.keys.jwks(), statusUrl: platform.statusUrl },
    http: {},
    ...(options.prices === undefined ? {} : { prices: options.prices }),
    registry: new Registry(),
    log,
  });
  await running.ready();
  const url = running.url ?? '';
  return {
    name,
    platform,
    url,
    running,
    async ask(resource, phase, more) {
      const { status, body } = await platform.post(url, platform.request(resource, more));
      expect({ status, body }).toMatchObject({ status: 202, body: { outcome: 'accepted' } });
      return platform.untilPhase(idOf(resource), phase);
    },
    async stop() {
      await running.stop();
      await platform.stop();
    },
  };
}

const type = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
});
export const secrets = type('', 'v1', 'secrets', 'Secret');
export const pods = type('', 'v1', 'pods', 'Pod');
export const claims = type('', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim');
export const deployments = type('apps', 'v1', 'deployments', 'Deployment');
export const statefulSets = type('apps', 'v1', 'statefulsets', 'StatefulSet');
const everything = [
  secrets,
  pods,
  claims,
  deployments,
  statefulSets,
  type('', 'v1', 'services', 'Service'),
  type('batch', 'v1', 'cronjobs', 'CronJob'),
  type('batch', 'v1', 'jobs', 'Job'),
  type('autoscaling', 'v2', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler'),
  type('networking.k8s.io', 'v1', 'ingresses', 'Ingress'),
];

/** Whatever in the cluster bears the uid of an object, in any namespace, by whichever broker. */
export async function madeFor(client: Client, uid: string, kinds = everything): Promise<UnknownObject[]> {
  const labelSelector = `broker.platform.company.com/resource-uid=${uid}`;
  const lists = await Promise.all(kinds.map((kind) => client.list(kind, { labelSelector })));
  return lists.flatMap(({ items }) => items);
}

/** Watches that can fall behind, as those of a busy API server do. */
export class Lag {
  readonly #held = new Map<string, PromiseWithResolvers<void>>();

  /** From now on nothing is heard of this kind. */
  hold({ kind }: Resource): void {
    this.#held.set(kind, Promise.withResolvers());
  }

  release(): void {
    for (const { resolve } of this.#held.values()) resolve();
    this.#held.clear();
  }

  through = (client: Client): Client =>
    new Proxy(client, {
      get: (target, property) => {
        if (property === 'watch') return (...of: Parameters<Client['watch']>) => this.#watch(target, ...of);
        const found: unknown = Reflect.get(target, property);
        return typeof found === 'function' ? found.bind(target) : found;
      },
    });

  async *#watch(client: Client, ...[resource, options]: Parameters<Client['watch']>) {
    for await (const event of client.watch(resource, options)) {
      await this.#held.get(resource.kind)?.promise;
      yield event;
    }
  }
}
