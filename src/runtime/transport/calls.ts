/**
 * Maps each method of a `Client` to its HTTP call, with pure functions from a resource, a key and options to a `Call`.
 */
import type {
  ApplyOptions,
  DeleteOptions,
  Impersonation,
  ListOptions,
  Patch,
  RawRequest,
  ReadOptions,
  RequestOptions,
  WatchOptions,
  WriteOptions,
} from '../client/client.ts';
import { apiVersionOf, type KubernetesObject, type ObjectKey, type Resource } from '../objects/object.ts';
import { doing, objectAt, type Place, queryString, resourcePath } from './paths.ts';
import type { Call } from './send.ts';

/** A call without the headers that name the user. */
export type AnonymousCall = Omit<Call, 'headers'>;

export function getCall(resource: Resource, key: ObjectKey, options: ReadOptions): AnonymousCall {
  const at = objectAt(resource, key, options.subresource);
  return {
    doing: doing('get', resource, at),
    method: 'GET',
    path: resourcePath(resource, at),
    idempotent: true,
    ...timing(options),
  };
}

export function listCall(resource: Resource, options: ListOptions): AnonymousCall {
  const at = collectionAt(options.namespace);
  const query = queryString({
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    limit: options.limit,
    continue: options.continue,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
  });
  return {
    doing: doing('list', resource, at),
    method: 'GET',
    path: resourcePath(resource, at) + query,
    idempotent: true,
    ...timing(options),
  };
}

export function watchCall(resource: Resource, options: WatchOptions): AnonymousCall {
  const at = collectionAt(options.namespace);
  const query = queryString({
    watch: 'true',
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    allowWatchBookmarks: options.allowWatchBookmarks,
    sendInitialEvents: options.sendInitialEvents,
    resourceVersionMatch: options.sendInitialEvents === true ? 'NotOlderThan' : undefined,
    timeoutSeconds: options.timeoutSeconds,
  });
  return {
    doing: doing('watch', resource, at),
    method: 'GET',
    path: resourcePath(resource, at) + query,
    idempotent: true,
    ...timing(options),
  };
}

export function createCall(resource: Resource, object: KubernetesObject, options: WriteOptions): AnonymousCall {
  const { namespace, name } = object.metadata;
  const key = { ...(namespace === undefined ? {} : { namespace }), name: name ?? '*' };
  const named = objectAt(resource, key, options.subresource);
  // The name of a new object is in its body; only a subresource (eviction, token) is created under a name.
  const at = options.subresource !== undefined ? named : collectionAt(namespace);
  return writeCall({ verb: 'create', method: 'POST', resource, at, contentType: 'application/json' }, object, options);
}

export function updateCall(resource: Resource, object: KubernetesObject, options: WriteOptions): AnonymousCall {
  const at = objectAt(resource, object.metadata, options.subresource);
  return writeCall({ verb: 'update', method: 'PUT', resource, at, contentType: 'application/json' }, object, options);
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

export function patchCall(resource: Resource, key: ObjectKey, patch: Patch, options: WriteOptions): AnonymousCall {
  const at = objectAt(resource, key, options.subresource);
  const contentType = patchTypes[patch.type];
  return writeCall({ verb: 'patch', method: 'PATCH', resource, at, contentType }, patch.body, options);
}

export function applyCall(resource: Resource, object: KubernetesObject, options: ApplyOptions): AnonymousCall {
  const at = objectAt(resource, object.metadata, options.subresource);
  const { managedFields: _ofTheServer, ...metadata } = object.metadata;
  const body = {
    ...object,
    apiVersion: object.apiVersion ?? apiVersionOf(resource),
    kind: object.kind ?? resource.kind,
    metadata,
  };
  const input = { verb: 'apply', method: 'PATCH', resource, at, contentType: 'application/apply-patch+yaml' };
  return { ...writeCall(input, body, options), idempotent: true };
}

export function deleteCall(resource: Resource, key: ObjectKey, options: DeleteOptions): AnonymousCall {
  const at = objectAt(resource, key);
  const { propagationPolicy, gracePeriodSeconds, preconditions } = options;
  return {
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
  };
}

export function rawCall(request: RawRequest): AnonymousCall {
  const { body } = request;
  const encoded =
    body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  return {
    doing: `${request.method} ${request.path}`,
    method: request.method,
    path: request.path + queryString(request.query ?? {}),
    ...(encoded === undefined ? {} : { body: encoded, contentType: request.contentType ?? 'application/json' }),
    idempotent: request.method === 'GET',
    question: request.method === 'POST',
    maximumResponseBytes: request.maximumResponseBytes,
    ...timing(request),
  };
}

export function impersonationHeaders(identity: Impersonation): string[] {
  const headers = ['impersonate-user', identity.user];
  if (identity.uid !== undefined) headers.push('impersonate-uid', identity.uid);
  for (const group of identity.groups ?? []) headers.push('impersonate-group', group);
  for (const [name, values] of Object.entries(identity.extra ?? {})) {
    for (const value of values) headers.push(`impersonate-extra-${encodeURIComponent(name.toLowerCase())}`, value);
  }
  return headers;
}

interface Write {
  readonly verb: string;
  readonly method: string;
  readonly resource: Resource;
  readonly at: Place;
  readonly contentType: string;
}

function writeCall(
  { verb, method, resource, at, contentType }: Write,
  body: unknown,
  options: WriteOptions & { force?: boolean },
): AnonymousCall {
  const query = queryString({
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    dryRun: options.dryRun === true ? 'All' : undefined,
    force: options.force,
  });
  return {
    doing: doing(verb, resource, at),
    method,
    path: resourcePath(resource, at) + query,
    contentType,
    body: JSON.stringify(body),
    idempotent: false,
    question: method === 'POST' && at.subresource !== undefined,
    onSent: options.onSent,
    ...timing(options),
  };
}

const collectionAt = (namespace: string | undefined): Place => (namespace === undefined ? {} : { namespace });

const timing = (options: RequestOptions): Pick<Call, 'signal' | 'timeoutMilliseconds' | 'fence'> => ({
  signal: options.signal,
  timeoutMilliseconds: options.timeoutMilliseconds,
  fence: options.fence,
});
