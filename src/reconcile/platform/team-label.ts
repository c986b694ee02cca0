/**
 * Sets the team label on resources owned by a Team.
 *
 * Admission sets it if the owner already exists. If the owner is created later (an unordered apply), this controller
 * sets it.
 */
import {
  type Application,
  application,
  deployableKinds,
  type Kind,
  TEAM_LABEL,
  type Team,
  team,
} from '../../api/index.ts';
import {
  type Client,
  controllerManagedBy,
  generationChanged,
  isConflict,
  type KubernetesObject,
  type Manager,
  type Predicate,
  type Resource,
} from '../../runtime/index.ts';
import {
  allOwned,
  cachedOwnership,
  keyAsOwner,
  type OwnedObject,
  type OwnerPath,
  ownerIndex,
  ownerPath,
  teamIndex,
} from './ownership.ts';
import { fieldManager } from './status.ts';

export function addTeamLabelReconcilers(manager: Manager): void {
  for (const kind of deployableKinds) addTeamLabelReconciler(manager, kind);
}

function addTeamLabelReconciler(manager: Manager, kind: Kind): void {
  const view = cachedOwnership((resource) => manager.caches.store(resource));
  const unlabelledBelow = (owner: KubernetesObject) =>
    allOwned(keyAsOwner(owner), view)
      .filter((object) => object.kind === kind.kind && lacksLabel(object))
      .map(({ metadata: { namespace = '', name } }) => ({ namespace, name }));
  controllerManagedBy(manager, `team-labels-${kind.plural}`)
    .for<OwnedObject>(kind.resource, { indexes: ownerIndex, predicates: [unlabelled] })
    .watches<Team>(team.resource, unlabelledBelow, { indexes: teamIndex, predicates: [generationChanged] })
    .watches<Application>(application.resource, unlabelledBelow, {
      indexes: ownerIndex,
      predicates: [generationChanged],
    })
    .complete(async (key, { client, read }) => {
      const object = await read.get<OwnedObject>(kind.resource, key);
      if (object === undefined || !lacksLabel(object)) return;
      const path = ownerPath(object, view);
      const home = view.teamOf(object.metadata.namespace ?? '');
      if (isOfTeam(path, home)) await labelled(client, kind.resource, object, path.team);
    });
}

/**
 * An object of one team in the namespace of another is denied at admission, so it must not get a label that claims
 * otherwise.
 */
const isOfTeam = ({ team: owner }: OwnerPath, home: Team | undefined): boolean =>
  owner !== undefined && (home === undefined || home.metadata.name === owner.metadata.name);

const lacksLabel = ({ metadata, spec }: OwnedObject): boolean =>
  spec.owner !== undefined && metadata.labels?.[TEAM_LABEL] === undefined && metadata.deletionTimestamp === undefined;

const unlabelled: Predicate<OwnedObject> = (change) => change.type !== 'deleted' && lacksLabel(change.object);

/** `labelled` sets the team label and returns the updated object. */
export async function labelled<T extends KubernetesObject>(
  client: Client,
  resource: Resource,
  object: T,
  owner: Team | undefined,
): Promise<T> {
  const value = owner?.spec.namespace;
  const { name, namespace, uid, labels, deletionTimestamp } = object.metadata;
  if (value === undefined || labels?.[TEAM_LABEL] === value || deletionTimestamp !== undefined) return object;
  const body = {
    apiVersion: object.apiVersion,
    kind: object.kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      labels: { [TEAM_LABEL]: value },
    },
  };
  try {
    return await client.apply(resource, body as unknown as T, { fieldManager, force: true });
  } catch (error) {
    // The object was deleted meanwhile, and another may have its name.
    if (isConflict(error)) return object;
    throw error;
  }
}
