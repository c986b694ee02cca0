/**
 * What a blue-green deployment has only once on a cluster: cluster-scoped objects, and those in namespaces of others. Two releases
 * cannot own the same object, so these are in neither of them; they are applied by us, and lead to one side or the other.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { FleetError, type Snapshot } from '../contract.ts';
import { fieldManager } from './definitions.ts';
import { type Kinds, kindsOf } from './kinds.ts';
import { mustStay } from './protect.ts';
import { isHook } from './workloads.ts';

/** On an object that is in no release: of which Operator it is. */
export const outsideLabel = 'platform.company.com/outside-release';
/** How Helm says of which release an object is. */
export const releaseNameAnnotation = 'meta.helm.sh/release-name';

export interface Side {
  readonly snapshot: Snapshot;
  readonly kinds: Kinds;
  /** What its release has. */
  readonly inside: readonly UnknownObject[];
  /** What is applied outside: first what its controllers need, then what leads requests to them. */
  readonly needs: readonly UnknownObject[];
  readonly leads: readonly UnknownObject[];
}

const leading = new Set(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration', 'APIService']);
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
    needs: outside.filter(({ kind }) => !leading.has(kind)),
    leads: outside.filter(({ kind }) => leading.has(kind)),
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
}

/** Its controllers get what they need beside those of the other side, from whom nothing is taken. */
export async function share(client: Client, side: Side): Promise<void> {
  for (const object of side.needs) {
    const live = await readOwn(client, side, object);
    if (live === undefined) await put(client, side, object);
    else if (bindings.has(object.kind)) await bind(client, side, object, live);
    else if (roles.has(object.kind))
      await put(client, side, { ...object, rules: union((live as Role).rules, (object as Role).rules) });
  }
}

/** All that they need is as this side says; the other side keeps its rights, for an instant way back. */
export async function supply(client: Client, side: Side): Promise<void> {
  for (const object of side.needs) {
    const live = await readOwn(client, side, object);
    if (bindings.has(object.kind)) await bind(client, side, object, live);
    else await put(client, side, object);
  }
}

/** From now on requests come to this side. */
export async function lead(client: Client, side: Side): Promise<void> {
  for (const object of side.leads) {
    await readOwn(client, side, object);
    await put(client, side, object);
  }
}

/**
 * What is left of a side that was given up: its service accounts lose their rights. Where nobody else lives on what is outside of the
 * release, all of it goes: a webhook that leads to nobody would stop everybody.
 */
export async function giveUp(client: Client, side: Side): Promise<void> {
  const { namespace, operator } = side.snapshot;
  let others = 0;
  let own = 0;
  const count = (namespaces: readonly (string | undefined)[]) => {
    for (const each of namespaces)
      if (each === namespace) own += 1;
      else if (each !== undefined) others += 1;
  };
  for (const object of [...side.needs, ...side.leads]) {
    const live = (await read(client, side, object)) as (Binding & Leading) | undefined;
    if (bindings.has(object.kind)) count((live?.subjects ?? []).map((subject) => subject.namespace));
    count((live?.webhooks ?? []).map(({ clientConfig }) => clientConfig?.service?.namespace));
  }
  const isAlone = own > 0 && others === 0;
  for (const object of [...side.leads, ...side.needs]) {
    const live = (await read(client, side, object)) as Binding | undefined;
    if (live === undefined) continue;
    if (isAlone && live.metadata.labels?.[outsideLabel] === operator && !mustStay(object)) {
      await client.delete(resourceOf(side, object), keyOf(side, object)).catch(ignoreMissing);
    } else if (bindings.has(object.kind)) {
      const subjects = (live.subjects ?? []).filter((subject) => subject.namespace !== namespace);
      if (subjects.length === live.subjects?.length) continue;
      await client.patch(
        resourceOf(side, object),
        keyOf(side, object),
        { type: 'merge', body: { subjects } },
        { fieldManager },
      );
    }
  }
}

interface Leading extends UnknownObject {
  webhooks?: readonly { readonly clientConfig?: { readonly service?: { readonly namespace?: string } } }[];
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

async function read(client: Client, side: Side, object: UnknownObject): Promise<UnknownObject | undefined> {
  try {
    return await client.get(resourceOf(side, object), keyOf(side, object));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

const resourceOf = ({ kinds }: Side, object: UnknownObject): Resource => kinds.resourceOf(object);

function keyOf({ kinds, snapshot }: Side, object: UnknownObject): { namespace?: string; name: string } {
  const { name, namespace = snapshot.namespace } = object.metadata;
  return kinds.isNamespaced(object) === true ? { namespace, name } : { name };
}
