/**
 * The Application controller: sums up the resources of an Application by environment and overall.
 *
 * An Application is deleted last: its finalizer waits until it owns nothing.
 */
import {
  type Application,
  application,
  type DeploymentTarget,
  deploymentTarget,
  OWNED_RESOURCES_FINALIZER,
  type Team,
  team,
} from '../../api/index.ts';
import {
  addFinalizer,
  controllerManagedBy,
  type EventRecorder,
  generationChanged,
  hasFinalizer,
  type Manager,
  type ObjectKey,
  removeFinalizer,
} from '../../runtime/index.ts';
import type { CostConfigMap } from '../costs/entry-store.ts';
import { readSettled } from '../costs/settled.ts';
import { applicationReady, environmentsOf, ownerResolved, worstPhase } from './application-status.ts';
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
  payersOf,
  teamIndex,
} from './ownership.ts';
import { recordReadyEvent } from './ready-event.ts';
import { configMaps } from './resources.ts';
import { rollUpChanged, settledIn, settledSelection, sumOf } from './roll-up.ts';
import { applyStatus, conditionOf, statusDiffers } from './status.ts';
import { targetIndex } from './targets.ts';
import { labelled } from './team-label.ts';
import { Throttle } from './throttle.ts';
import { isWaiting, waitingForOwned } from './waiting.ts';

interface ApplicationOptions {
  readonly platformNamespace: string;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly settleMilliseconds?: number;
}

export function addApplicationReconciler(manager: Manager, options: ApplicationOptions): void {
  const { platformNamespace, recorder, settleMilliseconds } = options;
  const view = cachedOwnership((resource) => manager.caches.store(resource));
  const throttle = new Throttle(manager.clock, settleMilliseconds);
  /** The Applications in the owner chain of an object. */
  const above = (object: OwnedObject): ObjectKey[] => ownerPath(object, view).applications.map(keyFrom);
  const below = (owner: string): ObjectKey[] =>
    allOwned(owner, view)
      .filter(({ kind }) => kind === 'Application')
      .map(({ metadata: { namespace = '', name } }) => ({ namespace, name }));

  const builder = controllerManagedBy(manager, 'applications')
    .for<Application>(application.resource, { indexes: ownerIndex })
    // A new owner may complete the owner chain up to a Team.
    .watches<Application>(
      application.resource,
      (object) => [...above(object as OwnedObject), ...below(keyAsOwner(object))],
      { predicates: [rollUpChanged] },
    )
    .watches<Team>(team.resource, (object) => below(keyAsOwner(object)), {
      indexes: teamIndex,
      predicates: [generationChanged],
    })
    .watches<DeploymentTarget>(
      deploymentTarget.resource,
      ({ metadata }) =>
        ownedKinds
          .filter(({ deployable }) => deployable)
          .flatMap(({ resource }) => manager.caches.store<OwnedObject>(resource).byIndex('kidp-target', metadata.name))
          .flatMap(above),
      { predicates: [generationChanged] },
    )
    .watches<CostConfigMap>(
      configMaps,
      (map) => [...new Set(readSettled(map).flatMap(({ applications }) => applications))].map(keyFrom),
      settledSelection(platformNamespace),
    );
  for (const kind of ownedKinds.filter(({ deployable }) => deployable)) {
    builder.watches<OwnedObject>(kind.resource, above, {
      indexes: { ...ownerIndex, ...targetIndex },
      predicates: [rollUpChanged],
    });
  }

  builder.complete(async (key, { client, read }) => {
    const cached = await read.get<Application>(application.resource, key);
    if (cached === undefined) return;
    const deleting = cached.metadata.deletionTimestamp !== undefined;
    if (deleting && !hasFinalizer(cached, OWNED_RESOURCES_FINALIZER)) return;
    const counts = countsFor(cached, view);
    if (deleting && !view.directlyOwned(keyAsOwner(cached)).some(counts)) {
      await removeFinalizer(client, application.resource, cached, OWNED_RESOURCES_FINALIZER);
      return;
    }
    const path = ownerPath(cached as OwnedObject, view);
    let object = await addFinalizer(client, application.resource, cached, OWNED_RESOURCES_FINALIZER);
    object = await labelled(client, application.resource, object, path.team);
    const { namespace = '', name } = object.metadata;
    const owner = ownerResolved(
      object,
      path,
      view.teamsOf(namespace).map(({ metadata }) => metadata.name),
    );
    const observedGeneration = object.metadata.generation ?? 0;
    const core = {
      conditions: [{ ...owner, observedGeneration }],
      fields: { observedGeneration, owner: object.status?.owner ?? object.spec.owner },
    };
    const settling = !statusDiffers(object, core) && deleting === isWaiting(object);
    const wait = settling ? throttle.wait(keyAsOwner(object)) : 0;
    if (wait > 0) return { requeueAfterMilliseconds: wait };
    throttle.mark(keyAsOwner(object));
    const owned = allOwned(keyAsOwner(object), view).filter(counts);
    const deployed = owned.filter(({ kind }) => kind !== 'Application');
    const services = deployed.filter(({ kind }) => kind === 'Service');
    const ready = deleting
      ? waitingForOwned(owned.map(describeObject))
      : applicationReady(deployed, owner, conditionOf(object, 'DependenciesBound'));
    const target = (of: string) => read.store<DeploymentTarget>(deploymentTarget.resource).get({ name: of });
    const payer = payersOf(object as OwnedObject, view).team?.spec.namespace ?? namespace;
    const settled = settledIn(manager.caches, platformNamespace, payer);
    const own = settled.filter(({ applications }) => applications.includes(`${namespace}/${name}`));
    const all = {
      conditions: [...core.conditions, { ...ready, observedGeneration }],
      fields: {
        ...core.fields,
        phase: worstPhase(deployed),
        services: { total: services.length, ready: services.filter(({ status }) => status?.phase === 'ready').length },
        environments: environmentsOf(object, deployed, target),
        costs: sumOf(owned, own),
      },
    };
    await applyStatus(client, application.resource, object, all, { now: manager.clock.now() });
    if (conditionOf(object, 'Ready')?.status !== ready.status) recordReadyEvent(recorder, object, ready);
    return;
  });
}

const keyFrom = (key: string): ObjectKey => {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
};
