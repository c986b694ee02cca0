/**
 * The shared objects of a blue-green deployment: cluster-scoped objects, and objects in other namespaces. Two releases
 * cannot own the same object, so these belong to neither; we apply them, and they route to one side or the other.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { takeFieldsFromHelm } from './fields.ts';
import { type Kinds, kindsOf } from './kinds.ts';
import { mustStay, saysKeep } from './protect.ts';
import { isHook } from './workloads.ts';

/** The Operator of an object that is in no release. */
export const outsideLabel = 'platform.company.com/outside-release';
/** The annotations with which Helm marks the release of an object. */
export const releaseNameAnnotation = 'meta.helm.sh/release-name';
export const releaseNamespaceAnnotation = 'meta.helm.sh/release-namespace';

export interface Side {
  readonly snapshot: Snapshot;
  readonly kinds: Kinds;
  /** The objects of its release. */
  readonly inside: readonly UnknownObject[];
  /** The objects applied outside of the release: first what its controllers need, then what routes requests to them. */
  readonly needs: readonly UnknownObject[];
  readonly routes: readonly UnknownObject[];
}

const routingKinds = new Set(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'APIService']);
const bindings = new Set(['ClusterRoleBinding', 'RoleBinding']);
const roles = new Set(['ClusterRole', 'Role']);

export async function sideOf(client: Client, snapshot: Snapshot): Promise<Side> {
  const kinds = await kindsOf(client, snapshot.manifests, snapshot.definitions);
  // Unknown kinds are ignored here; Helm reports them at install.
  const isInside = (object: UnknownObject) =>
    kinds.isNamespaced(object) !== false && (object.metadata.namespace ?? snapshot.namespace) === snapshot.namespace;
  const outside = snapshot.manifests.filter((object) => !isInside(object) && !isHook(object));
  return {
    snapshot,
    kinds,
    inside: snapshot.manifests.filter(isInside),
    needs: outside.filter(({ kind }) => !routingKinds.has(kind)),
    routes: outside.filter(({ kind }) => routingKinds.has(kind)),
  };
}

interface Binding extends UnknownObject {
  subjects?: readonly Subject[];
  roleRef?: unknown;
}

interface Subject {
  readonly kind?: string;
  readonly name?: string;
  readonly namespace?: string;
}

interface Role extends UnknownObject {
  rules?: readonly unknown[];
  aggregationRule?: unknown;
}

/** `shareNeeds` adds what the controllers of this side need, and takes nothing from the other side. */
export async function shareNeeds(client: Client, side: Side): Promise<void> {
  for (const object of side.needs) {
    const live = await readOwn(client, side, object);
    if (live === undefined) await put(client, side, object);
    else if (bindings.has(object.kind)) await bind(client, side, object, live);
    else if (roles.has(object.kind))
      await put(client, side, { ...object, rules: union((live as Role).rules, (object as Role).rules) });
  }
}

/** `applyNeeds` applies what this side needs; the other side keeps its permissions, for an instant rollback. */
export async function applyNeeds(client: Client, side: Side): Promise<void> {
  for (const object of side.needs) {
    const live = await readOwn(client, side, object);
    if (live !== undefined) await takeFieldsFromHelm(client, resourceOf(side, object), keyOf(side, object), live);
    if (bindings.has(object.kind)) await bind(client, side, object, live);
    else await put(client, side, object);
  }
}

/** `requireOwnedRoutes` throws before any change if a routing object belongs to another owner. */
export async function requireOwnedRoutes(client: Client, side: Side): Promise<void> {
  for (const object of side.routes) await readOwn(client, side, object);
}

/** `applyRoutes` routes requests to this side; with `shared`, only those that went to the other one. */
export async function applyRoutes(client: Client, side: Side, shared?: Side): Promise<void> {
  for (const object of side.routes) {
    if (shared !== undefined && find(shared, side, object) === undefined) continue;
    const live = await readOwn(client, side, object);
    if (live !== undefined) await takeFieldsFromHelm(client, resourceOf(side, object), keyOf(side, object), live);
    await put(client, side, object);
  }
}

/** `removeStaleRoutes` deletes routes that only the other side has: they would point to nothing and block requests. */
export const removeStaleRoutes = (client: Client, from: Side, to: Side): Promise<void> =>
  drop(client, from, from.routes, to);

/** `removeStaleObjects` cleans up after an in-place upgrade: no release lists what it no longer has. */
export const removeStaleObjects = (client: Client, from: Side, to: Side): Promise<void> =>
  drop(client, from, [...from.routes, ...from.needs], to);

/**
 * `removeSide` cleans up outside of the release of a removed side. Objects that the other side also has are kept and
 * routed to it, without the permissions of this side. The rest is deleted.
 */
export async function removeSide(client: Client, side: Side, stays: Side | undefined): Promise<void> {
  const { namespace } = side.snapshot;
  await drop(client, side, [...side.routes, ...side.needs], stays);
  if (stays === undefined) return;
  for (const object of [...side.routes, ...side.needs]) {
    const theirs = find(stays, side, object);
    const live = await read(client, side, object);
    if (theirs === undefined || live === undefined) continue;
    if (bindings.has(object.kind)) await unbind(client, side, object, live, theirs);
    else if (roles.has(object.kind)) await narrow(client, stays, live, theirs);
    else if (routesOnlyTo(live, namespace) && !routesOnlyTo(theirs, namespace)) await put(client, stays, theirs);
  }
}

/** Deletes objects that `to` does not have, if they are ours and not marked `keep`. */
async function drop(
  client: Client,
  side: Side,
  objects: readonly UnknownObject[],
  to: Side | undefined,
): Promise<void> {
  for (const object of objects) {
    if (mustStay(object) || (to !== undefined && find(to, side, object) !== undefined)) continue;
    const live = await read(client, side, object);
    if (live === undefined || saysKeep(live) || !isOf(live, side.snapshot)) continue;
    await client.delete(resourceOf(side, object), keyOf(side, object)).catch(ignoreMissing);
  }
}

/** `find` returns the same object on another side. The group counts, not the version. */
export function find({ snapshot, kinds }: Side, of: Side, object: UnknownObject): UnknownObject | undefined {
  const group = groupOf(object);
  const { name, namespace } = keyOf(of, object);
  return snapshot.manifests.find((each) => {
    if (each.kind !== object.kind || each.metadata.name !== name || groupOf(each) !== group || isHook(each))
      return false;
    return namespace === undefined || keyOf({ snapshot, kinds }, each).namespace === namespace;
  });
}

const groupOf = ({ apiVersion }: UnknownObject): string => apiVersion.split('/').slice(0, -1).join('/');

async function unbind(
  client: Client,
  side: Side,
  object: UnknownObject,
  live: Binding,
  theirs: Binding,
): Promise<void> {
  const isGone = (subject: Subject) =>
    subject.namespace === side.snapshot.namespace && !(theirs.subjects ?? []).some((each) => isSame(each, subject));
  const subjects = (live.subjects ?? []).filter((subject) => !isGone(subject));
  if (subjects.length === live.subjects?.length) return;
  const body = { subjects };
  await client.patch(resourceOf(side, object), keyOf(side, object), { type: 'merge', body }, { fieldManager });
}

/** Both sides had the union of the rules. Aggregated roles have no rules of their own. */
async function narrow(client: Client, stays: Side, live: Role, theirs: Role): Promise<void> {
  if (theirs.rules === undefined || theirs.aggregationRule !== undefined) return;
  if (!isDeepStrictEqual(live.rules, theirs.rules)) await put(client, stays, theirs);
}

interface RoutingObject extends UnknownObject {
  webhooks?: readonly { readonly clientConfig?: { readonly service?: { readonly namespace?: string } } }[];
  spec?: { readonly service?: { readonly namespace?: string } };
}

function routesOnlyTo({ webhooks = [], spec }: RoutingObject, namespace: string): boolean {
  const services = [...webhooks.map(({ clientConfig }) => clientConfig?.service), spec?.service];
  const namespaces = services.flatMap((service) => (service?.namespace === undefined ? [] : [service.namespace]));
  return namespaces.length > 0 && namespaces.every((each) => each === namespace);
}

function ignoreMissing(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

async function bind(client: Client, side: Side, object: Binding, live: Binding | undefined): Promise<void> {
  if (live === undefined) return put(client, side, object);
  if (isDeepStrictEqual(live.roleRef, object.roleRef)) {
    return put(client, side, { ...object, subjects: union(live.subjects, object.subjects) });
  }
  // The roleRef of a binding is immutable.
  await client.delete(resourceOf(side, object), keyOf(side, object));
  await put(client, side, object);
}

function union<Item>(some: readonly Item[] = [], more: readonly Item[] = []): readonly Item[] {
  return [...some, ...more.filter((each) => !some.some((other) => isSame(other, each)))];
}

/** The API server adds the empty group of a service account. */
function isSame(one: unknown, other: unknown): boolean {
  const plain = (value: unknown) => {
    const { apiGroup, ...rest } = value as Readonly<Record<string, unknown>>;
    return { ...rest, ...(apiGroup === '' || apiGroup === undefined ? {} : { apiGroup }) };
  };
  return isDeepStrictEqual(plain(one), plain(other));
}

async function put(client: Client, side: Side, object: UnknownObject): Promise<void> {
  const { operator, namespace } = side.snapshot;
  const resource = resourceOf(side, object);
  const { metadata } = object;
  const labelled = {
    ...object,
    metadata: {
      ...metadata,
      ...(resource.namespaced ? { namespace: metadata.namespace ?? namespace } : {}),
      labels: { ...metadata.labels, [outsideLabel]: operator },
    },
  };
  await client.apply(resource, labelled, { fieldManager, force: true });
}

/** `readOwn` rejects objects of other owners before they are changed or, in a rollback, deleted. */
async function readOwn(client: Client, side: Side, object: UnknownObject): Promise<UnknownObject | undefined> {
  const live = await read(client, side, object);
  if (live === undefined) return undefined;
  const { operator, releaseName } = side.snapshot;
  const { labels, annotations } = live.metadata;
  if (labels?.[outsideLabel] === operator || annotations?.[releaseNameAnnotation] === releaseName) return live;
  throw new FleetError(
    'helm/failed',
    `${object.kind} ${object.metadata.name} already exists and does not belong to ${operator}`,
  );
}

/** We applied it, or it is in the release of this side. */
function isOf({ metadata }: UnknownObject, { operator, releaseName, namespace }: Snapshot): boolean {
  const { labels = {}, annotations = {} } = metadata;
  if (labels[outsideLabel] === operator) return true;
  return annotations[releaseNameAnnotation] === releaseName && annotations[releaseNamespaceAnnotation] === namespace;
}

async function read(client: Client, side: Side, object: UnknownObject): Promise<UnknownObject | undefined> {
  try {
    return await client.get(resourceOf(side, object), keyOf(side, object));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const resourceOf = ({ kinds }: Side, object: UnknownObject): Resource => kinds.resourceOf(object);

function keyOf(
  { kinds, snapshot }: Pick<Side, 'kinds' | 'snapshot'>,
  object: UnknownObject,
): { namespace?: string; name: string } {
  const { name, namespace = snapshot.namespace } = object.metadata;
  return kinds.isNamespaced(object) === true ? { namespace, name } : { name };
}
