/** Which types of resources a policy is about. */
import type { TypeMatch } from '../model.ts';
import { pluralOf } from '../native/plural.ts';
import type { Operation } from '../request.ts';
import { glob } from './globs.ts';

/** The type of a request: all that can be told apart by it alone. */
export interface RequestType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly subresource: string;
  /** Of a subresource: the kind that its resource is of, where the cluster says it; else it is guessed from the plural. */
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

/** What native rules also ask of a request. */
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
  // `core/v1/Pod/exec` is sent as a PodExecOptions: only the resource says that it is about a Pod.
  const { parentKind } = request;
  return (
    kind === request.kind || (parentKind === undefined ? pluralOf(kind) === request.resource : kind === parentKind)
  );
}

/** What happens every second, or asks who may do what: a policy on everything does not mean these. */
function isNoise({ group, resource }: RequestType): boolean {
  if (group === '' || group === 'events.k8s.io') return resource === 'events';
  if (group === 'coordination.k8s.io') return resource === 'leases';
  return group === 'authorization.k8s.io' || group === 'authentication.k8s.io';
}
