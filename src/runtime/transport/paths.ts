/** Builds the URL path of a resource, a key and options, and the name of a request for messages. */
import type { ObjectKey, Resource } from '../objects/object.ts';

/** The part of a resource that a request addresses. */
export interface Place {
  readonly namespace?: string;
  readonly name?: string;
  readonly subresource?: string;
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Returns for example `/apis/apps/v1/namespaces/default/deployments/web/status`, relative to the URL of the server. */
export function resourcePath(resource: Resource, at: Place): string {
  // Names, and the group, version and plural of a definition, are from users: one that contains a path segment would
  // address another resource.
  for (const part of [at.namespace, at.name, ...(at.subresource?.split('/') ?? [])]) refuseTraversal(part);
  for (const part of [resource.group, resource.version, resource.plural]) refuseOther(part);
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

/** Returns for example `patch deployments.apps/status default/web`, the start of every error message. */
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

function refuseOther(part: string): void {
  if (/^\.{1,2}$|[^\w.-]/.test(part))
    throw new TypeError(`"${part}" is no group, version or plural: only letters, digits, "-" and "." are allowed`);
}

/** Returns the place of one object. A namespaced resource without a namespace is an error of the caller. */
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
