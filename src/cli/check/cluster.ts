/** Reads from a cluster for `--kubeconfig`: namespaces, params, context, owners, the current objects, and permissions of the user. */
import { reviewAccess } from '../../admission/index.ts';
import { API_VERSION, GROUP, VERSION } from '../../api/index.ts';
import type { decideWithAuthorizer, Json, PolicySet, UserInfo } from '../../policy/index.ts';
import { ApiError, type Client, isNotFound, type UnknownObject } from '../../runtime/index.ts';
import { discover, type ResourceMapping, resourceMapping, type ServedResource } from '../../runtime/internal.ts';
import { withClient } from '../common/client.ts';
import type { LocatedObject } from '../documents/index.ts';
import { identityOf } from './result.ts';

type Ask = Parameters<typeof decideWithAuthorizer>[3];

export interface Cluster {
  readonly client: Client;
  readonly mapping: ResourceMapping;
  /** Objects by `apiVersion kind`, of the kinds that were read. */
  readonly live: ReadonlyMap<string, readonly Json[]>;
  /** The objects that were asked for, as they are, by identity. */
  readonly before: ReadonlyMap<string, Json>;
  /** By `group/Kind`. */
  readonly plurals: ReadonlyMap<string, string>;
  /** What could not be had, in words. */
  readonly notes: readonly string[];
  /** Reads what judging these objects by this set may look at. */
  read(set: PolicySet, objects: readonly LocatedObject[]): Promise<void>;
  list(resource: ServedResource): AsyncIterable<UnknownObject>;
  askFor(user: UserInfo): Ask;
}

/** How many requests are on their way at once. */
const AT_ONCE = 16;
const PAGE = 500;

/** Runs a task with a cluster after discovery. */
export async function withCluster<Answer>(
  kubeconfig: string | undefined,
  task: (cluster: Cluster) => Promise<Answer>,
): Promise<Answer> {
  return withClient(kubeconfig === undefined ? {} : { file: kubeconfig }, async (client) => {
    const { resources, failed } = await discover(client, { retries: true });
    return task(new LiveCluster(client, resourceMapping(resources), failed));
  });
}

class LiveCluster implements Cluster {
  readonly client: Client;
  readonly mapping: ResourceMapping;
  readonly live = new Map<string, Json[]>();
  readonly before = new Map<string, Json>();
  readonly plurals: ReadonlyMap<string, string>;
  readonly notes: string[] = [];

  constructor(client: Client, mapping: ResourceMapping, failed: readonly string[]) {
    this.client = client;
    this.mapping = mapping;
    this.plurals = new Map(mapping.resources.map(({ group, kind, plural }) => [`${group}/${kind}`, plural]));
    if (failed.length > 0) this.notes.push(`discovery failed for ${failed.join(', ')}`);
  }

  async read(set: PolicySet, objects: readonly LocatedObject[]): Promise<void> {
    const wanted = new Map<string, { group: string; version: string; kind: string }>();
    const want = (apiVersion: string, kind: string) =>
      wanted.set(`${apiVersion} ${kind}`, { ...groupVersion(apiVersion), kind });
    want('v1', 'Namespace');
    for (const { apiVersion, kind } of set.needs) want(apiVersion, kind);
    // Owners, where the platform's kinds are there at all.
    for (const kind of ['Team', 'Application']) {
      if (this.mapping.byKind(GROUP, kind, VERSION) !== undefined) want(API_VERSION, kind);
    }
    await inParallel([...wanted], ([key, { group, version, kind }]) => this.#readKind(key, group, version, kind));
    await inParallel(objects, ({ object }) => this.#readBefore(object));
  }

  async *list(resource: ServedResource): AsyncIterable<UnknownObject> {
    let next: string | undefined;
    do {
      const page = await this.client.list(resource, { limit: PAGE, ...(next === undefined ? {} : { continue: next }) });
      const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`;
      // Items of a list do not say what they are.
      for (const item of page.items) yield { ...item, apiVersion, kind: resource.kind };
      next = page.metadata.continue;
    } while (next !== undefined && next !== '');
  }

  askFor(user: UserInfo): Ask {
    return reviewAccess(this.client, user, () => AbortSignal.timeout(30_000));
  }

  async #readKind(key: string, group: string, version: string, kind: string): Promise<void> {
    const resource = this.mapping.byKind(group, kind, version);
    if (resource === undefined) {
      this.notes.push(`the cluster has no ${key}: rules that read it are not evaluated`);
      return;
    }
    const found: Json[] = [];
    try {
      for await (const object of this.list(resource)) found.push(object);
      this.live.set(key, found);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 403) throw error;
      this.notes.push(`this user is not allowed to list ${resource.plural}: rules that read them are not evaluated`);
    }
  }

  async #readBefore(object: UnknownObject): Promise<void> {
    const { group, version } = groupVersion(object.apiVersion);
    const resource = this.mapping.byKind(group, object.kind, version);
    const { name, namespace } = object.metadata;
    if (resource === undefined || name === undefined || (resource.namespaced && namespace === undefined)) return;
    try {
      const key = resource.namespaced && namespace !== undefined ? { namespace, name } : { name };
      this.before.set(identityOf(object), await this.client.get<UnknownObject>(resource, key));
    } catch (error) {
      if (error instanceof ApiError && error.status === 403) {
        this.notes.push(`this user is not allowed to read ${resource.plural}: ${name} is evaluated as new`);
      } else if (!isNotFound(error)) throw error;
    }
  }
}

export function groupVersion(apiVersion: string): { group: string; version: string } {
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  return { group: group ?? '', version: version ?? '' };
}

export async function inParallel<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}
