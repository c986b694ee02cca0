/** Builds the values of the variables that every policy may read, on first use. */
import {
  type AuthorizationAnswer,
  type AuthorizationAttributes,
  Authorizer,
  CelError,
  ResourceCheck,
  type Value,
} from '../../cel/index.ts';
import type { Subject } from '../match/subject.ts';
import { pluralOf } from '../native/plural.ts';
import type { GroupVersionKind, Json, UserInfo } from '../request.ts';
import type { World } from '../world.ts';

/** `requestValue` builds `request`; empty fields are omitted, as by the API server. */
export function requestValue({ request }: Subject): Value {
  const resource = request.resource ?? resourceOf(request.kind);
  const value: Record<string, unknown> = {
    uid: request.uid,
    kind: { ...request.kind },
    resource: { ...resource },
    requestKind: { ...(request.requestKind ?? request.kind) },
    requestResource: { ...(request.requestResource ?? resource) },
    operation: request.operation,
    userInfo: userValue(request.userInfo),
    dryRun: request.dryRun ?? false,
  };
  const subResource = request.subResource ?? '';
  setText(value, 'subResource', subResource);
  setText(value, 'requestSubResource', request.requestSubResource ?? subResource);
  setText(value, 'name', request.name);
  setText(value, 'namespace', request.namespace);
  if (request.options !== undefined && request.options !== null) value.options = request.options;
  return value as Value;
}

const resourceOf = ({ group, version, kind }: GroupVersionKind) => ({ group, version, resource: pluralOf(kind) });

function setText(value: Record<string, unknown>, name: string, text: string | undefined): void {
  if (text !== undefined && text !== '') value[name] = text;
}

function userValue(user: UserInfo | undefined): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  setText(value, 'username', user?.username);
  setText(value, 'uid', user?.uid);
  if ((user?.groups ?? []).length > 0) value.groups = user?.groups;
  if (Object.keys(user?.extra ?? {}).length > 0) value.extra = user?.extra;
  return value;
}

const NAMESPACE_METADATA = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'finalizers',
];

/** `namespaceValue` builds `namespaceObject` with the fields of a Namespace that Kubernetes exposes. */
export function namespaceValue(namespace: Json | null): Value {
  if (namespace === null) return null;
  const metadata = (namespace.metadata ?? {}) as Json;
  const shown = NAMESPACE_METADATA.filter((name) => metadata[name] !== undefined && metadata[name] !== null);
  return {
    metadata: Object.fromEntries(shown.map((name) => [name, metadata[name]])),
    spec: namespace.spec ?? {},
    status: namespace.status ?? {},
  } as unknown as Value;
}

/** `authorizerFor` builds `authorizer`, which asks the world and records the questions that it cannot answer. */
export function authorizerFor(world: World, questions: Map<string, AuthorizationAttributes>): Authorizer {
  const decide = (attributes: AuthorizationAttributes): AuthorizationAnswer => {
    const answer = world.authorize?.(attributes);
    if (answer !== undefined) return answer;
    questions.set(JSON.stringify(attributes), attributes);
    return { allowed: false, error: 'not answered yet' };
  };
  return new Authorizer({ decide });
}

/** `requestResource` builds `authorizer.requestResource`, the resource of the request. */
export function requestResource(
  authorizer: Authorizer,
  { request, group, resource, subresource, name }: Subject,
): ResourceCheck {
  return new ResourceCheck(authorizer, {
    group: request.requestResource?.group ?? group,
    resource: request.requestResource?.resource ?? resource,
    subresource: request.requestSubResource ?? subresource,
    namespace: request.namespace ?? '',
    name,
  });
}

/** `shorthand` returns a field of the object by its shorthand name; if it is absent, the error of `object.status`. */
export function shorthand(object: Json | null, name: string): Value | CelError {
  const value = object !== null && Object.hasOwn(object, name) ? object[name] : undefined;
  return value === undefined ? new CelError('no_such_key', `no such key: ${name}`) : (value as Value);
}
