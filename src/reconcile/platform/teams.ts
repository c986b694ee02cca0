/**
 * The Team controller: applies the namespace and its contents, and sums up resources and costs.
 *
 * A Team is deleted last: its finalizer waits until it owns nothing. Its namespace is kept; the access of its members
 * is revoked.
 */
import { isDeepStrictEqual } from 'node:util';
import {
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNED_RESOURCES_FINALIZER,
  TEAM_LABEL,
  type Team,
  team,
} from '../../api/index.ts';
import {
  ApiError,
  addFinalizer,
  type Client,
  controllerManagedBy,
  type DesiredCondition,
  type EventRecorder,
  generationChanged,
  hasFinalizer,
  isNotFound,
  type KubernetesObject,
  keyOf,
  type Manager,
  type Mapper,
  type ObjectKey,
  type Reader,
  type Resource,
  removeFinalizer,
} from '../../runtime/index.ts';
import type { Selection } from '../../runtime/internal.ts';
import type { CostConfigMap } from '../costs/entry-store.ts';
import { type Refusal, type Reservations, refusalOf, reservedBy } from './namespace-claim.ts';
import {
  allOwned,
  cachedOwnership,
  countsFor,
  describeObject,
  keyAsOwner,
  type OwnedObject,
  ownedKinds,
  ownerIndex,
  ownerPath,
  type Phase,
  teamIndex,
} from './ownership.ts';
import { recordReadyEvent } from './ready-event.ts';
import { configMaps, namespaces, networkPolicies, resourceQuotas, roleBindings, roles } from './resources.ts';
import { rollUpChanged, settledIn, settledSelection, sumOf } from './roll-up.ts';
import { applyStatus, type DesiredStatus, fieldManager, statusDiffers } from './status.ts';
import {
  COST_TAG_PREFIX,
  contentsOf,
  costAnnotations,
  DEVELOPER_ROLE,
  type DesiredObject,
  namespaceOf,
  QUOTA_NAME,
} from './team-objects.ts';
import { Throttle } from './throttle.ts';
import { isWaiting, waitingForOwned } from './waiting.ts';

interface TeamOptions extends Reservations {
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly settleMilliseconds?: number;
}

/** Only objects managed by kidp are watched: a cluster can have very many Roles. */
const managed: Selection = { labelSelector: `${MANAGED_BY_LABEL}=${MANAGED_BY}` };
const inNamespaces = [roles, roleBindings, resourceQuotas, networkPolicies];
/** Requests that the API server rejected are retried after this time, although nothing changed here. */
const refusedMilliseconds = 60_000;

export function addTeamReconciler(manager: Manager, options: TeamOptions): void {
  const { platformNamespace, recorder, settleMilliseconds } = options;
  const reserved = reservedBy(options);
  const view = cachedOwnership((resource) => manager.caches.store(resource));
  const throttle = new Throttle(manager.clock, settleMilliseconds);
  const teamsOf = (namespace: string | undefined) =>
    namespace === undefined ? [] : view.teamsOf(namespace).map(({ metadata }) => ({ name: metadata.name }));
  const toTeams: Mapper = ({ metadata }) => teamsOf(metadata.namespace);

  const builder = controllerManagedBy(manager, 'teams')
    .for<Team>(team.resource, { indexes: teamIndex })
    // If two Teams name one namespace, the younger gets it when the older is deleted.
    .watches<Team>(
      team.resource,
      ({ metadata, spec }) => teamsOf(spec.namespace).filter(({ name }) => name !== metadata.name),
      { predicates: [generationChanged] },
    )
    .watches(namespaces, ({ metadata }) => teamsOf(metadata.name))
    .watches<CostConfigMap>(
      configMaps,
      ({ metadata }) => teamsOf(metadata.labels?.[TEAM_LABEL]),
      settledSelection(platformNamespace),
    );
  for (const resource of inNamespaces) builder.watches(resource, toTeams, managed);
  for (const kind of ownedKinds) {
    builder.watches(
      kind.resource,
      (object) => {
        const { team: owner } = ownerPath(object as OwnedObject, view);
        return owner === undefined ? [] : [{ name: owner.metadata.name }];
      },
      { indexes: ownerIndex, predicates: [rollUpChanged] },
    );
  }

  builder.complete(async ({ name }, { client, read }) => {
    const cached = await read.get<Team>(team.resource, { name });
    if (cached === undefined) return;
    const claimants = view.teamsOf(cached.spec.namespace);
    const namespace = await read.get(namespaces, { name: cached.spec.namespace });
    const refusal = refusalOf({ team: cached, claimants, namespace, reserved });
    const deleting = cached.metadata.deletionTimestamp !== undefined;
    if (deleting && !hasFinalizer(cached, OWNED_RESOURCES_FINALIZER)) return;
    // Resources owned through an Application keep that Application, which keeps the Team.
    const counts = countsFor(cached, view);
    if (deleting && !view.directlyOwned(keyAsOwner(cached)).some(counts)) {
      if (refusal === undefined) await revokeAccess(client, cached);
      await removeFinalizer(client, team.resource, cached, OWNED_RESOURCES_FINALIZER);
      return;
    }
    const object = await addFinalizer(client, team.resource, cached, OWNED_RESOURCES_FINALIZER);
    const failure = refusal ?? (await applyTeamObjects(client, read, object, namespace));
    const observedGeneration = object.metadata.generation ?? 0;
    const statusWith = (ready: DesiredCondition, more: object = {}): DesiredStatus => ({
      conditions: [{ ...ready, observedGeneration }],
      fields: {
        phase: phaseOf(ready),
        namespace: failure === undefined ? object.spec.namespace : undefined,
        observedGeneration,
        ...more,
      },
    });
    const settling = deleting ? isWaiting(object) : !statusDiffers(object, statusWith(readiness(object, failure)));
    const wait = settling ? throttle.wait(name) : 0;
    if (wait > 0) return { requeueAfterMilliseconds: wait };
    throttle.mark(name);
    const owned = allOwned(keyAsOwner(object), view).filter(counts);
    const ready = deleting ? waitingForOwned(owned.map(describeObject)) : readiness(object, failure);
    // If the namespace belongs to another Team, so do its settled costs.
    const settled = refusal === undefined ? settledIn(manager.caches, platformNamespace, object.spec.namespace) : [];
    const status = statusWith(ready, { resources: owned.length, costs: sumOf(owned, settled) });
    await applyStatus(client, team.resource, object, status, { now: manager.clock.now() });
    recordReadyEvent(recorder, object, ready);
    return failure === undefined ? undefined : { requeueAfterMilliseconds: refusedMilliseconds };
  });
}

/** Waiting resolves automatically; any other failure needs an action. */
function phaseOf({ status, reason }: DesiredCondition): Phase {
  if (status === 'True') return 'ready';
  return reason === 'WaitingForOwnedResources' || reason === 'NamespaceTerminating' ? 'pending' : 'failed';
}

interface ApplyFailed {
  readonly reason: 'ApplyFailed';
  readonly message: string;
}

/** `applyTeamObjects` applies the namespace and its contents. A rejection by the API server is returned, not thrown. */
async function applyTeamObjects(
  client: Client,
  read: Reader,
  object: Team,
  namespace: KubernetesObject | undefined,
): Promise<ApplyFailed | undefined> {
  const wanted = namespaceOf(object);
  try {
    if (differs(namespace, wanted)) await apply(client, wanted);
    for (const each of contentsOf(object)) {
      const { name } = each.object.metadata;
      const there = read.store(each.resource, managed).get({ namespace: object.spec.namespace, name });
      if (!differs(there, each)) continue;
      if (each.resource === roleBindings) await deleteMismatchedBinding(client, each);
      await apply(client, each);
    }
    const quota = { namespace: object.spec.namespace, name: QUOTA_NAME };
    const hasQuota = read.store(resourceQuotas, managed).has(quota);
    if (hasQuota && Object.keys(object.spec.quota ?? {}).length === 0) await remove(client, resourceQuotas, quota);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || (error.status !== 422 && error.status !== 403)) throw error;
    return { reason: 'ApplyFailed', message: `The API server rejected an object of the namespace: ${error.message}` };
  }
}

/** The roleRef of a binding is immutable, so a binding to another role must be re-created. */
async function deleteMismatchedBinding(client: Client, { resource, object }: DesiredObject): Promise<void> {
  const key = keyOf(object);
  try {
    const there = await client.get(resource, key);
    if (isDeepStrictEqual(there.roleRef, object.roleRef)) return;
    const { uid } = there.metadata;
    await client.delete(resource, key, uid === undefined ? {} : { preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** `differs` reports whether the current object lacks a desired field. Labels and annotations of others are ignored. */
function differs(there: KubernetesObject | undefined, { object }: DesiredObject): boolean {
  if (there === undefined) return true;
  const { apiVersion: _version, kind: _kind, metadata, ...content } = object;
  const current = there as KubernetesObject & Record<string, unknown>;
  const lacks = (now: Readonly<Record<string, string>> = {}, want: Readonly<Record<string, string>> = {}) =>
    Object.entries(want).some(([key, value]) => now[key] !== value);
  const isOurs = (key: string) => key.startsWith(COST_TAG_PREFIX);
  const tooMany = Object.keys(there.metadata.annotations ?? {}).some(
    (key) => isOurs(key) && !(key in (metadata.annotations ?? {})),
  );
  return (
    tooMany ||
    lacks(there.metadata.labels, metadata.labels) ||
    lacks(there.metadata.annotations, metadata.annotations) ||
    Object.entries(content).some(([field, value]) => !isDeepStrictEqual(stored(current[field]), stored(value)))
  );
}

/** The API server omits empty lists. They are applied anyway, so that entries of others are removed. */
const stored = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value ?? [], (_, part) => (Array.isArray(part) && part.length === 0 ? undefined : part)) ?? 'null',
  );

const apply = (client: Client, { resource, object }: DesiredObject) =>
  client.apply(resource, object, { fieldManager, force: true });

/** The namespace and its contents are kept; only the access of the members ends. */
async function revokeAccess(client: Client, { spec }: Team): Promise<void> {
  for (const resource of [roleBindings, roles]) {
    await remove(client, resource, { namespace: spec.namespace, name: DEVELOPER_ROLE });
  }
}

async function remove(client: Client, resource: Resource, key: ObjectKey): Promise<void> {
  await client.delete(resource, key).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

function readiness({ spec }: Team, failure: Refusal | ApplyFailed | undefined): DesiredCondition {
  if (failure !== undefined)
    return { type: 'Ready', status: 'False', reason: failure.reason, message: failure.message };
  const { leftOut } = costAnnotations(spec.costTags ?? {});
  const note =
    leftOut.length === 0 ? '' : `; cost tags that are no valid annotation names were skipped: ${leftOut.join(', ')}`;
  return {
    type: 'Ready',
    status: 'True',
    reason: 'ResourceReady',
    message: `Namespace ${spec.namespace} is set up${note}`,
  };
}
