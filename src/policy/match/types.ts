/** Matches resource types against the types of a selector. */
import type { TypeMatch } from '../model.ts';
import { pluralOf } from '../native/plural.ts';
import type { Operation } from '../request.ts';
import { glob } from './globs.ts';

/** The resource type of a request. */
export interface RequestType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly subresource: string;
  /** The kind of the parent resource of a subresource, if it is known; otherwise it is guessed from the plural. */
  readonly parentKind?: string | undefined;
}

export function matchesType(type: TypeMatch, request: RequestType, operation?: Operation): boolean {
  if (!matchesText(type.group, request.group)) return false;
  if (!(type.equivalent === true || matchesText(type.version, request.version))) return false;
  if (!matchesSubresource(type.subresource, request.subresource)) return false;
  if (!matchesKind(type, request)) return false;
  if (operation !== undefined && type.operations !== undefined && !type.operations.includes(operation)) return false;
  return type.sparing !== true || !isNoise(request);
}

/** Matches the resource names and the scope of native rules. */
export function matchesRequest(type: TypeMatch, name: string, namespaced: boolean): boolean {
  if (type.resourceNames !== undefined && type.resourceNames.length > 0 && !type.resourceNames.includes(name))
    return false;
  if (type.scope === 'Cluster') return !namespaced;
  return type.scope !== 'Namespaced' || namespaced;
}

const matchesText = (pattern: string, text: string): boolean =>
  pattern === '*' || pattern === text || (pattern.includes('*') && glob(pattern)(text));

function matchesSubresource(pattern: string | undefined, subresource: string): boolean {
  if (pattern === undefined) return subresource === '';
  return pattern === '*' || pattern === subresource;
}

function matchesKind(type: TypeMatch, request: RequestType): boolean {
  if (type.resource !== undefined) return type.resource === '*' || type.resource === request.resource;
  const { kind = '*' } = type;
  if (kind === '*' || (kind === request.kind && request.subresource === '')) return true;
  if (request.subresource === '') return false;
  // `core/v1/Pod/exec` is sent as a PodExecOptions; only the resource identifies the Pod.
  const { parentKind } = request;
  return (
    kind === request.kind || (parentKind === undefined ? pluralOf(kind) === request.resource : kind === parentKind)
  );
}

/** Events, Leases and access reviews are too frequent for a policy that selects everything. */
function isNoise({ group, resource }: RequestType): boolean {
  if (group === '' || group === 'events.k8s.io') return resource === 'events';
  if (group === 'coordination.k8s.io') return resource === 'leases';
  return group === 'authorization.k8s.io' || group === 'authentication.k8s.io';
}
