/**
 * A writer that creates, changes and deletes objects, and a follower that knows only what a reflector reports. Whatever
 * happened in between, at the end the two must agree with what the API server has.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Client,
  isAlreadyExists,
  isNotFound,
  type KubernetesObject,
  Reflector,
  type ReflectorOptions,
  type Resource,
} from '../../../src/runtime/index.ts';

export interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export const configMaps: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
export const namespaces: Resource = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
};

export async function createNamespace(client: Client, name: string): Promise<string> {
  await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  return name;
}

/** So many writes to so many names, each tried until it is done. */
export async function churn(
  client: Client,
  input: { namespace: string; names: number; writes: number; tag: string },
): Promise<void> {
  for (let write = 0; write < input.writes; write += 1) {
    const name = `object-${Math.floor(Math.random() * input.names)}`;
    const key = { namespace: input.namespace, name };
    const deleting = Math.random() < 0.25;
    await persistently(async () => {
      if (deleting) await client.delete(configMaps, key).catch(unless(isNotFound));
      else {
        await client.apply<ConfigMap>(
          configMaps,
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: key, data: { value: `${input.tag}-${write}` } },
          { fieldManager: 'churn', force: true, timeoutMilliseconds: 5_000 },
        );
      }
    });
  }
}

/** Through whatever outage there is: a server that is started again on a loaded machine may be away for a minute. */
export async function persistently<T>(act: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + 180_000;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(100);
    }
  }
}

export interface Follower {
  readonly reflector: Reflector<ConfigMap>;
  /** Of every handler call, in order: what was reported. */
  readonly reported: { type: 'added' | 'updated' | 'deleted'; name: string }[];
  readonly relists: number;
  readonly errors: Error[];
  /** What the handlers received, put together: name → resourceVersion. */
  replica(): Map<string, string>;
  /** Waits until handlers, store and server agree; throws with the difference where they do not. */
  agree(with_: Client): Promise<void>;
  stop(): Promise<void>;
}

/** A reflector whose handlers keep a copy from nothing but what they receive, and check the order of it. */
export function follow(
  client: Client,
  namespace: string,
  options: Partial<ReflectorOptions<ConfigMap>> = {},
): Follower {
  const replica = new Map<string, ConfigMap>();
  const reported: Follower['reported'] = [];
  const errors: Error[] = [];
  let relists = 0;
  const fail = (message: string): never => {
    errors.push(new Error(message));
    throw new Error(message);
  };
  const reflector = new Reflector<ConfigMap>({
    client,
    resource: configMaps,
    namespace,
    backoff: { baseMilliseconds: 20, maximumMilliseconds: 500 },
    ...options,
    observer: {
      ...options.observer,
      relisted(cause) {
        relists += 1;
        options.observer?.relisted?.(cause);
      },
    },
    handlers: {
      added(object) {
        const { name } = object.metadata;
        if (replica.has(name)) fail(`${name} was added twice`);
        replica.set(name, Object.freeze(object));
        reported.push({ type: 'added', name });
      },
      updated(object, old) {
        const { name } = object.metadata;
        if (replica.get(name) !== old) fail(`${name} was updated from something it never was`);
        replica.set(name, Object.freeze(object));
        reported.push({ type: 'updated', name });
      },
      deleted(object) {
        const { name } = object.metadata;
        if (!replica.delete(name)) fail(`${name} was deleted and had never been added`);
        reported.push({ type: 'deleted', name });
      },
    },
  });
  reflector.start();
  const versions = (objects: Iterable<ConfigMap>) =>
    new Map([...objects].map(({ metadata }) => [metadata.name, metadata.resourceVersion ?? '']));
  const asText = (map: Map<string, string>) => JSON.stringify([...map].sort());
  return {
    reflector,
    reported,
    errors,
    get relists() {
      return relists;
    },
    replica: () => versions(replica.values()),
    async agree(server) {
      const deadline = performance.now() + 240_000;
      for (;;) {
        const { items } = await persistently(() => server.list<ConfigMap>(configMaps, { namespace }));
        const wanted = asText(versions(items));
        const heard = asText(versions(replica.values()));
        const stored = asText(versions(reflector.store));
        if (wanted === heard && wanted === stored && errors.length === 0) return;
        if (performance.now() > deadline || errors.length > 0) {
          const reason = errors.map(({ message }) => message).join('; ');
          throw new Error(
            `server ${wanted}\nhandlers ${heard}\nstore ${stored}\nstatus ${JSON.stringify(reflector.status)} ${reason}`,
          );
        }
        await sleep(100);
      }
    },
    stop: () => reflector.stop(),
  };
}

function unless(isFine: (error: unknown) => boolean): (error: unknown) => void {
  return (error) => {
    if (!isFine(error) && !isAlreadyExists(error)) throw error;
  };
}
