/** `connect`: the `Client` over HTTP. Each method says what goes on the wire; `send` brings it there. */
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
  RequestOptions,
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
import { type Budgets, openConnections } from './connections.ts';
import type { Answer } from './exchange.ts';
import { ItemSplitter } from './items.ts';
import { doing, objectAt, type Place, queryString, resourcePath } from './paths.ts';
import { type Call, openSender, type Sender } from './send.ts';
import { watchEvents } from './watch.ts';

export interface ConnectOptions {
  /** The deadline of a request that names none: from its start, through queueing and retries, to the last byte. */
  timeoutMilliseconds?: number;
  /** How many short requests are on their way at once; more wait. Watches do not count. */
  connections?: number;
  /** Shared with clients of other servers. Not for a server behind a proxy. */
  budgets?: Budgets;
  /** How often the files of the config are looked at for a change. A refusal looks at once. */
  recheckMilliseconds?: number;
  /** How often a request that the server puts off (429, 503 with Retry-After) is sent again. */
  retries?: number;
  maximumResponseBytes?: number;
  /** Of one event in a watch. */
  maximumEventBytes?: number;
  userAgent?: string;
  /** Told each warning of the API server and of admission. */
  onWarning?: (warning: string, doing: string) => void;
}

const contentTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** Opens nothing yet: the first request connects. Throws a `ConfigError` only from requests. */
export function connect(config: ClusterConfig, options: ConnectOptions = {}): Client {
  const connections = openConnections(config, {
    connections: options.connections ?? 32,
    recheckMilliseconds: options.recheckMilliseconds ?? 5_000,
    budgets: options.budgets,
  });
  const sender = openSender(config, connections, {
    timeoutMilliseconds: options.timeoutMilliseconds ?? 30_000,
    retries: options.retries ?? 5,
    // One string in V8 holds half a gigabyte; a page of 500 objects of the largest size etcd takes is 750 MB.
    maximumResponseBytes: options.maximumResponseBytes ?? 256 * 1024 * 1024,
    maximumEventBytes: options.maximumEventBytes ?? 32 * 1024 * 1024,
    userAgent: options.userAgent ?? 'kidp',
    onWarning: options.onWarning,
  });
  return clientOver(sender, config.impersonation, () => connections.close());
}

function clientOver(sender: Sender, identity: Impersonation | undefined, close: () => Promise<void>): Client {
  const headers = identity === undefined ? [] : impersonationHeaders(identity);

  /** Sends, and throws an `ApiError` unless the server did as asked. */
  const demand = async (call: Omit<Call, 'headers'>): Promise<Answer> => {
    const answer = await sender.send({ ...call, headers });
    if (answer.status >= 400) throw statusError(call.doing, answer);
    return answer;
  };
  const demandObject = async <T>(call: Omit<Call, 'headers'>): Promise<T> =>
    parseObject<T>(call.doing, await demand(call));

  const write = <T>(
    input: { verb: string; method: string; resource: Resource; at: Place; contentType: string },
    body: unknown,
    options: WriteOptions & { force?: boolean },
    idempotent: boolean,
  ): Promise<T> =>
    demandObject<T>({
      doing: doing(input.verb, input.resource, input.at),
      method: input.method,
      path:
        resourcePath(input.resource, input.at) +
        queryString({
          fieldManager: options.fieldManager,
          fieldValidation: options.fieldValidation,
          dryRun: options.dryRun === true ? 'All' : undefined,
          force: options.force,
        }),
      contentType: input.contentType,
      body: JSON.stringify(body),
      idempotent,
      question: input.method === 'POST' && input.at.subresource !== undefined,
      onSent: options.onSent,
      ...timing(options),
    });

  return {
    async get<T>(resource: Resource, key: ObjectKey, options: ReadOptions = {}) {
      const at = objectAt(resource, key, options.subresource);
      return demandObject<T>({
        doing: doing('get', resource, at),
        method: 'GET',
        path: resourcePath(resource, at),
        idempotent: true,
        ...timing(options),
      });
    },

    async list<T extends KubernetesObject>(resource: Resource, options: ListOptions = {}) {
      const call = listCall(resource, options);
      const list = parseObject<ObjectList<T>>(call.doing, await demand(call));
      const apiVersion = apiVersionOf(resource);
      list.items ??= [];
      for (const item of list.items) nameKind(item, apiVersion, resource.kind);
      return list;
    },

    async listEach<T extends KubernetesObject>(
      resource: Resource,
      options: ListEachOptions,
      each: (object: T) => void,
    ): Promise<ObjectList<T>> {
      const call = listCall(resource, options);
      const apiVersion = apiVersionOf(resource);
      const splitter = new ItemSplitter<T>({
        maximumItemBytes: sender.options.maximumEventBytes,
        omitManagedFields: options.omitManagedFields ?? false,
        onItem: (item) => each(nameKind(item, apiVersion, resource.kind)),
      });
      const { status, headers: received } = await demand({ ...call, sink: (chunk) => splitter.push(chunk) });
      return parseObject<ObjectList<T>>(call.doing, {
        status,
        headers: received,
        body: Buffer.from(splitter.finish()),
      });
    },

    watch<T extends KubernetesObject>(resource: Resource, options: WatchOptions = {}): AsyncIterable<WatchEvent<T>> {
      const at = options.namespace === undefined ? {} : { namespace: options.namespace };
      const call: Call = {
        doing: doing('watch', resource, at),
        method: 'GET',
        path:
          resourcePath(resource, at) +
          queryString({
            watch: 'true',
            labelSelector: options.labelSelector,
            fieldSelector: options.fieldSelector,
            resourceVersion: options.resourceVersion,
            allowWatchBookmarks: options.allowWatchBookmarks,
            sendInitialEvents: options.sendInitialEvents,
            resourceVersionMatch: options.sendInitialEvents === true ? 'NotOlderThan' : undefined,
            timeoutSeconds: options.timeoutSeconds,
          }),
        idempotent: true,
        headers,
        ...timing(options),
      };
      return watchEvents<T>(sender, call, options.onOpen);
    },

    async create<T extends KubernetesObject>(resource: Resource, object: T, options: WriteOptions = {}) {
      const { namespace, name } = object.metadata;
      const named = objectAt(
        resource,
        { ...(namespace === undefined ? {} : { namespace }), name: name ?? '*' },
        options.subresource,
      );
      // The name of a new object is in its body; only a subresource (eviction, token) is created under one.
      const at: Place = options.subresource !== undefined ? named : namespace === undefined ? {} : { namespace };
      return write<T>(
        {
          verb: 'create',
          method: 'POST',
          resource,
          at,
          contentType: 'application/json',
        },
        object,
        options,
        false,
      );
    },

    async update<T extends KubernetesObject>(resource: Resource, object: T, options: WriteOptions = {}) {
      const at = objectAt(resource, object.metadata, options.subresource);
      return write<T>(
        { verb: 'update', method: 'PUT', resource, at, contentType: 'application/json' },
        object,
        options,
        false,
      );
    },

    async patch<T>(resource: Resource, key: ObjectKey, patch: Patch, options: WriteOptions = {}) {
      const at = objectAt(resource, key, options.subresource);
      const contentType = contentTypes[patch.type];
      return write<T>({ verb: 'patch', method: 'PATCH', resource, at, contentType }, patch.body, options, false);
    },

    async apply<T extends KubernetesObject>(resource: Resource, object: T, options: ApplyOptions) {
      const at = objectAt(resource, object.metadata, options.subresource);
      const { managedFields: _notOurs, ...metadata } = object.metadata;
      const body = {
        ...object,
        apiVersion: object.apiVersion ?? apiVersionOf(resource),
        kind: object.kind ?? resource.kind,
        metadata,
      };
      return write<T>(
        { verb: 'apply', method: 'PATCH', resource, at, contentType: 'application/apply-patch+yaml' },
        body,
        options,
        true,
      );
    },

    async delete(resource: Resource, key: ObjectKey, options: DeleteOptions = {}) {
      const at = objectAt(resource, key);
      const { propagationPolicy, gracePeriodSeconds, preconditions } = options;
      await demand({
        doing: doing('delete', resource, at),
        method: 'DELETE',
        path: resourcePath(resource, at),
        contentType: 'application/json',
        body: JSON.stringify({
          apiVersion: 'v1',
          kind: 'DeleteOptions',
          propagationPolicy,
          gracePeriodSeconds,
          preconditions,
          dryRun: options.dryRun === true ? ['All'] : undefined,
        }),
        idempotent: false,
        ...timing(options),
      });
    },

    async request(request: RawRequest): Promise<RawResponse> {
      const { body } = request;
      const encoded =
        body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
      const answer = await sender.send({
        doing: `${request.method} ${request.path}`,
        method: request.method,
        path: request.path + queryString(request.query ?? {}),
        ...(encoded === undefined ? {} : { body: encoded, contentType: request.contentType ?? 'application/json' }),
        idempotent: request.method === 'GET',
        question: request.method === 'POST',
        headers,
        maximumResponseBytes: request.maximumResponseBytes,
        ...timing(request),
      });
      const flat: Record<string, string> = {};
      for (const [name, value] of Object.entries(answer.headers)) {
        if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value;
      }
      return {
        status: answer.status,
        headers: flat,
        warnings: warningsOf(answer.headers),
        text: answer.body.toString('utf8'),
      };
    },

    impersonate: (other) => clientOver(sender, other, async () => {}),
    close,
  };
}

function listCall(resource: Resource, options: ListOptions): Omit<Call, 'headers'> {
  const at = options.namespace === undefined ? {} : { namespace: options.namespace };
  return {
    doing: doing('list', resource, at),
    method: 'GET',
    path:
      resourcePath(resource, at) +
      queryString({
        labelSelector: options.labelSelector,
        fieldSelector: options.fieldSelector,
        limit: options.limit,
        continue: options.continue,
        resourceVersion: options.resourceVersion,
        resourceVersionMatch: options.resourceVersionMatch,
      }),
    idempotent: true,
    ...timing(options),
  };
}

function timing(options: RequestOptions): Pick<Call, 'signal' | 'timeoutMilliseconds' | 'fence'> {
  return { signal: options.signal, timeoutMilliseconds: options.timeoutMilliseconds, fence: options.fence };
}

/** A list of a built-in kind leaves apiVersion and kind out of its items; every object of ours has them. */
function nameKind<T extends KubernetesObject>(item: T, apiVersion: string, kind: string): T {
  item.apiVersion ??= apiVersion;
  item.kind ??= kind;
  return item;
}

function impersonationHeaders(identity: Impersonation): string[] {
  const headers = ['impersonate-user', identity.user];
  if (identity.uid !== undefined) headers.push('impersonate-uid', identity.uid);
  for (const group of identity.groups ?? []) headers.push('impersonate-group', group);
  for (const [name, values] of Object.entries(identity.extra ?? {})) {
    for (const value of values) headers.push(`impersonate-extra-${encodeURIComponent(name.toLowerCase())}`, value);
  }
  return headers;
}
