/** How a resource, a key and options are spelled in a URL, and how a request is named in a message. */
import type { ObjectKey, Resource } from '../objects/object.ts';

/** Where a request goes within a resource. */
export interface Place {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** `/apis/apps/v1/namespaces/default/deployments/web/status`, below the path of the server's address. */
export function resourcePath(resource: Resource, at: Place): string {
  // Names come from users' objects: one that is a piece of a path would make this request another one.
  for (const part of [at.namespace, at.name, ...(at.subresource?.split('/') ?? [])]) refuseTraversal(part);
  let path = resource.group === '' ? `/api/${resource.version}` : `/apis/${resource.group}/${resource.version}`;
  if (resource.namespaced && at.namespace !== undefined) path += `/namespaces/${encodeURIComponent(at.namespace)}`;
  path += `/${resource.plural}`;
  if (at.name !== undefined) path += `/${encodeURIComponent(at.name)}`;
  if (at.subresource !== undefined) path += `/${at.subresource}`;
  return path;
}

export function queryString(query: Query): string {
  let text = '';
  for (const name in query) {
    const value = query[name];
    if (value === undefined) continue;
    text += `${text === '' ? '?' : '&'}${name}=${encodeURIComponent(String(value))}`;
  }
  return text;
}

/** `patch deployments.apps/status default/web`: the start of every error's message. */
export function doing(verb: string, resource: Resource, at: Place): string {
  const group = resource.group === '' ? '' : `.${resource.group}`;
  const subresource = at.subresource === undefined ? '' : `/${at.subresource}`;
  const what = `${verb} ${resource.plural}${group}${subresource}`;
  if (at.name !== undefined) return `${what} ${at.namespace === undefined ? '' : `${at.namespace}/`}${at.name}`;
  return at.namespace === undefined ? what : `${what} in ${at.namespace}`;
}

function refuseTraversal(part: string | undefined): void {
  if (part === '.' || part === '..' || (part !== undefined && /[/%]/.test(part))) {
    throw new TypeError(`"${part}" is no name: it must not be "." or ".." and must not hold "/" or "%"`);
  }
}

/** Where a request for one object goes. A namespaced resource without a namespace is a mistake of the caller's. */
export function objectAt(resource: Resource, key: ObjectKey, subresource?: string): Place {
  if (resource.namespaced && (key.namespace === undefined || key.namespace === '')) {
    throw new TypeError(`${resource.kind} "${key.name}" needs a namespace: ${resource.plural} are namespaced`);
  }
  if (key.name === '') throw new TypeError(`a ${resource.kind} needs a name`);
  return {
    name: key.name,
    ...(resource.namespaced && key.namespace !== undefined ? { namespace: key.namespace } : {}),
    ...(subresource === undefined ? {} : { subresource }),
  };
}
