/**
 * What a blue-green deployment has only once on a cluster: cluster-scoped objects, and those in namespaces of others. Two releases
 * cannot own the same object, so these are in neither of them; they are applied by us, and lead to one side or the other.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { takeFieldsFromHelm } from './fields.ts';
import { type Kinds, kindsOf } from './kinds.ts';
import { mustStay, saysKeep } from './protect.ts';
import { isHook } from './workloads.ts';

/** On an object that is in no release: of which Operator it is. */
export const outsideLabel = 'platform.company.com/outside-release';
/** How Helm says of which release an object is. */
export const releaseNameAnnotation = 'meta.helm.sh/release-name';
export const releaseNamespaceAnnotation = 'meta.helm.sh/release-namespace';

export interface Side {
  readonly snapshot: Snapshot;
  readonly kinds: Kinds;
  /** What its release has. */
  readonly inside: readonly UnknownObject[];
  /** What is applied outside: first what its controllers need, then what routes requests to them. */
  readonly needs: readonly UnknownObject[];
  readonly routes: readonly UnknownObject[];
}

const routingKinds = new Set(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'APIService']);
const bindings = new Set(['ClusterRoleBinding', 'RoleBinding']);
const roles = new Set(['ClusterRole', 'Role']);

export async function sideOf(client: Client, snapshot: Snapshot): Promise<Side> {
  const kinds = await kindsOf(client, snapshot.manifests, snapshot.definitions);
  // What the cluster does not know is nowhere; Helm says so where it is to be installed.
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

/** Its controllers get what they need beside those of the other side, from whom nothing is taken. */
export async function shareNeeds(client: Client, side: Side): Promise<void> {
  for (const object of side.needs) {
    const live = await readOwn(client, side, object);
    if (live === undefined) await put(client, side, object);
    else if (bindings.has(object.kind)) await bind(client, side, object, live);
    else if (roles.has(object.kind))
      await put(client, side, { ...object, rules: union((live as Role).rules, (object as Role).rules) });
  }
}

/** All that they need is as this side says; the other side keeps its rights, for an instant way back. */
export async function applyNeeds(client: Client, side: Side): Promise<void> {
  for (const object of side.needs) {
    const live = await readOwn(client, side, object);
    if (live !== undefined) await takeFieldsFromHelm(client, resourceOf(side, object), keyOf(side, object), live);
    if (bindings.has(object.kind)) await bind(client, side, object, live);
    else await put(client, side, object);
  }
}

/** Before anything is changed: throws where what is to lead to this side is somebody else's. */
export async function requireOwnedRoutes(client: Client, side: Side): Promise<void> {
  for (const object of side.routes) await readOwn(client, side, object);
}

/** From now on requests come to this side; with `shared`, only those that came to the other one until now. */
export async function applyRoutes(client: Client, side: Side, shared?: Side): Promise<void> {
  for (const object of side.routes) {
    if (shared !== undefined && find(shared, side, object) === undefined) continue;
    const live = await readOwn(client, side, object);
    if (live !== undefined) await takeFieldsFromHelm(client, resourceOf(side, object), keyOf(side, object), live);
    await put(client, side, object);
  }
}

/** What routes to the other side and is not on this one would lead to nobody from now on, and stop everybody. */
export const removeStaleRoutes = (client: Client, from: Side, to: Side): Promise<void> =>
  drop(client, from, from.routes, to);

/** Of one that was upgraded in its place: no release tells what it no longer has. */
export const removeStaleObjects = (client: Client, from: Side, to: Side): Promise<void> =>
  drop(client, from, [...from.routes, ...from.needs], to);

/**
 * What is left of a side that was given up. Of what is outside of its release the other side has some as well: that stays, and routes to
 * it, without the rights of this one. The rest goes.
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

/** What `to` does not have, where it is ours and nobody wants it to stay. */
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

/** The same object on another side, wherever that has it. Its group counts, and not the version that it is written in. */
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

/** Both had what either of them needs. What gathers its rules from others has none of its own. */
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
  // What a binding binds to never changes.
  await client.delete(resourceOf(side, object), keyOf(side, object));
  await put(client, side, object);
}

function union<Item>(some: readonly Item[] = [], more: readonly Item[] = []): readonly Item[] {
  return [...some, ...more.filter((each) => !some.some((other) => isSame(other, each)))];
}

/** The API server fills in the group of a service account, which is none. */
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

/** Before it is written: what somebody else has put there is neither changed nor, on the way back, taken away. */
async function readOwn(client: Client, side: Side, object: UnknownObject): Promise<UnknownObject | undefined> {
  const live = await read(client, side, object);
  if (live === undefined) return undefined;
  const { operator, releaseName } = side.snapshot;
  const { labels, annotations } = live.metadata;
  if (labels?.[outsideLabel] === operator || annotations?.[releaseNameAnnotation] === releaseName) return live;
  throw new FleetError(
    'helm/failed',
    `${object.kind} ${object.metadata.name} is there already, and not of ${operator}`,
  );
}

/** We have applied it, or it is in the release of this side. */
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
