/** `connect` implements `Client` over HTTP: `calls.ts` defines the request of each method, `send.ts` sends it. */
import type { LookupFunction } from 'node:net';
import type {
  ApplyOptions,
  Client,
  DeleteOptions,
  Impersonation,
  ListEachOptions,
  ListOptions,
  Patch,
  RawRequest,
  RawResponse,
  ReadOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../client/client.ts';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';
import {
  apiVersionOf,
  type KubernetesObject,
  type ObjectKey,
  type ObjectList,
  type Resource,
} from '../objects/object.ts';
import { parseObject, statusError, warningsOf } from './answers.ts';
import {
  type AnonymousCall,
  applyCall,
  createCall,
  deleteCall,
  getCall,
  impersonationHeaders,
  listCall,
  patchCall,
  rawCall,
  updateCall,
  watchCall,
} from './calls.ts';
import { type Budgets, openConnections } from './connections.ts';
import type { Answer } from './exchange.ts';
import { ItemSplitter } from './items.ts';
import { openSender, type Sender } from './send.ts';
import { watchEvents } from './watch.ts';

export interface ConnectOptions {
  /** The deadline of a request that names none: from its start, through queueing and retries, to the last byte. */
  timeoutMilliseconds?: number;
  /** The number of concurrent short requests; more are queued. Watches do not count. */
  connections?: number;
  /** Connection budgets shared with clients of other servers. Not for a server behind a proxy. */
  budgets?: Budgets;
  /** Replaces the DNS lookup, to refuse addresses. Not for a server behind a proxy. */
  lookup?: LookupFunction | undefined;
  /** How often the credential files are checked for a change. They are also read again as soon as the server rejects them. */
  recheckMilliseconds?: number;
  /** How often a request is retried that the server answers with 429, or with 503 and Retry-After. */
  retries?: number;
  maximumResponseBytes?: number;
  /** The limit for one event of a watch. */
  maximumEventBytes?: number;
  userAgent?: string;
  /** Called with each warning of the API server and of admission. */
  onWarning?: (warning: string, doing: string) => void;
}

/**
 * `connect` makes a client for a cluster. It opens no connection: the first request does, and unusable credentials make that request
 * reject with a `ConfigError`.
 *
 * @example
 * import { connect, loadKubeconfig } from 'kidp/runtime';
 *
 * const pods = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
 * const client = connect(loadKubeconfig());
 * for (const pod of (await client.list(pods, { namespace: 'default' })).items) console.log(pod.metadata.name);
 * await client.close();
 */
export function connect(config: ClusterConfig, options: ConnectOptions = {}): Client {
  const connections = openConnections(config, {
    connections: options.connections ?? 32,
    recheckMilliseconds: options.recheckMilliseconds ?? 5_000,
    budgets: options.budgets,
    lookup: options.lookup,
  });
  const sender = openSender(config, connections, {
    timeoutMilliseconds: options.timeoutMilliseconds ?? 30_000,
    retries: options.retries ?? 5,
    // A string in V8 is limited to half a gigabyte, and a page of 500 objects of the maximal size in etcd has 750 MB.
    maximumResponseBytes: options.maximumResponseBytes ?? 256 * 1024 * 1024,
    maximumEventBytes: options.maximumEventBytes ?? 32 * 1024 * 1024,
    userAgent: options.userAgent ?? 'kidp',
    onWarning: options.onWarning,
  });
  return clientOver(sender, config.impersonation, () => connections.close());
}

/** A sender that makes every call as one user. */
interface UserSender {
  readonly sender: Sender;
  readonly headers: readonly string[];
}

function clientOver(sender: Sender, identity: Impersonation | undefined, close: () => Promise<void>): Client {
  const user: UserSender = { sender, headers: identity === undefined ? [] : impersonationHeaders(identity) };
  return {
    get: async <T>(resource: Resource, key: ObjectKey, options: ReadOptions = {}) =>
      demandObject<T>(user, getCall(resource, key, options)),
    list: async <T extends KubernetesObject>(resource: Resource, options: ListOptions = {}) =>
      listPage<T>(user, resource, options),
    listEach: async <T extends KubernetesObject>(
      resource: Resource,
      options: ListEachOptions,
      each: (object: T) => void,
    ) => listEach<T>(user, resource, options, each),
    watch: <T extends KubernetesObject>(resource: Resource, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> =>
      watchEvents<T>(sender, { ...watchCall(resource, options), headers: user.headers }, options.onOpen),
    create: async <T extends KubernetesObject>(resource: Resource, object: T, options: WriteOptions = {}) =>
      demandObject<T>(user, createCall(resource, object, options)),
    update: async <T extends KubernetesObject>(resource: Resource, object: T, options: WriteOptions = {}) =>
      demandObject<T>(user, updateCall(resource, object, options)),
    patch: async <T>(resource: Resource, key: ObjectKey, patch: Patch, options: WriteOptions = {}) =>
      demandObject<T>(user, patchCall(resource, key, patch, options)),
    apply: async <T extends KubernetesObject>(resource: Resource, object: T, options: ApplyOptions) =>
      demandObject<T>(user, applyCall(resource, object, options)),
    delete: async (resource: Resource, key: ObjectKey, options: DeleteOptions = {}) => {
      await demand(user, deleteCall(resource, key, options));
    },
    request: async (request: RawRequest) =>
      rawResponse(await sender.send({ ...rawCall(request), headers: user.headers })),
    impersonate: (other) => clientOver(sender, other, async () => {}),
    close,
  };
}

/** Sends a call and throws an `ApiError` for every status from 400 on. */
async function demand({ sender, headers }: UserSender, call: AnonymousCall): Promise<Answer> {
  const answer = await sender.send({ ...call, headers });
  if (answer.status >= 400) throw statusError(call.doing, answer);
  return answer;
}

const demandObject = async <T>(user: UserSender, call: AnonymousCall): Promise<T> =>
  parseObject<T>(call.doing, await demand(user, call));

async function listPage<T extends KubernetesObject>(
  user: UserSender,
  resource: Resource,
  options: ListOptions,
): Promise<ObjectList<T>> {
  const list = await demandObject<ObjectList<T>>(user, listCall(resource, options));
  const apiVersion = apiVersionOf(resource);
  list.items ??= [];
  for (const item of list.items) nameKind(item, apiVersion, resource.kind);
  return list;
}

async function listEach<T extends KubernetesObject>(
  user: UserSender,
  resource: Resource,
  options: ListEachOptions,
  each: (object: T) => void,
): Promise<ObjectList<T>> {
  const call = listCall(resource, options);
  const apiVersion = apiVersionOf(resource);
  const splitter = new ItemSplitter<T>({
    maximumItemBytes: user.sender.options.maximumEventBytes,
    omitManagedFields: options.omitManagedFields ?? false,
    onItem: (item) => each(nameKind(item, apiVersion, resource.kind)),
  });
  const { status, headers } = await demand(user, { ...call, sink: (chunk) => splitter.push(chunk) });
  return parseObject<ObjectList<T>>(call.doing, { status, headers, body: Buffer.from(splitter.finish()) });
}

/** Adds apiVersion and kind, which lists of built-in kinds omit from their items. */
function nameKind<T extends KubernetesObject>(item: T, apiVersion: string, kind: string): T {
  item.apiVersion ??= apiVersion;
  item.kind ??= kind;
  return item;
}

function rawResponse({ status, headers, body }: Answer): RawResponse {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return { status, headers: flat, warnings: warningsOf(headers), text: body.toString('utf8') };
}
