/**
 * Ownership: from `spec.owner` of every object to the tree below a Team or an Application, and up to the Team.
 *
 * Owners are referenced by name, and a name may be written before the owner exists. So the tree is found through an
 * index over names, and an owner chain may end at a missing owner.
 */
import {
  type Application,
  application,
  deployableKinds,
  type Kind,
  type Team,
  team,
  teamOfNamespace,
} from '../../api/index.ts';
import type { Condition, KubernetesObject, ReadonlyStore, Resource } from '../../runtime/index.ts';

/** The fields that all kinds with an owner share. */
export interface OwnedObject extends KubernetesObject {
  spec: {
    owner?: OwnerName;
    targetRef?: { name: string };
    dependencies?: Readonly<Record<string, DependencySelector | undefined>>;
    sharedWith?: readonly string[];
    costTags?: Readonly<Record<string, string>>;
  };
  status?: {
    phase?: Phase;
    conditions?: Condition[];
    observedGeneration?: number;
    owner?: OwnerName;
    targetRef?: { name: string; broker?: string; formerBrokers?: readonly string[] };
    bindings?: readonly Binding[];
    /** Set once the object was deployed. */
    deploymentId?: string;
    connectionSecret?: { name: string; revision?: string };
    outputs?: Readonly<Record<string, string>>;
    url?: string;
    costs?: readonly MonthlyCost[];
  };
}

export interface OwnerName {
  readonly kind: 'Team' | 'Application';
  readonly name: string;
  readonly namespace?: string;
}

export type Phase = 'pending' | 'deploying' | 'ready' | 'failed' | 'unknown';

export interface DependencySelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
  readonly expect?: 'One' | 'Some' | 'Any';
  readonly fromTeams?: readonly string[];
}

/** One entry of `status.bindings`. */
export interface Binding {
  readonly kind: 'Database' | 'Cache' | 'Topic' | 'Service' | 'Secret';
  readonly namespace: string;
  readonly name: string;
  readonly connectionSecret?: string;
  readonly revision?: string;
}

/** One entry of `status.costs`. */
export interface MonthlyCost {
  readonly month: string;
  readonly currency: string;
  /** The sum over all brokers. */
  readonly amount: string;
  readonly asOf?: string;
  /** The last report of each broker. Entries written by old versions have none. */
  readonly reports?: readonly BrokerCost[];
}

export interface BrokerCost {
  readonly broker: string;
  readonly amount: string;
  readonly asOf?: string;
}

/** The kinds that have an owner; an Application can also be an owner. */
export const ownedKinds: readonly Kind[] = [application, ...deployableKinds];

/** The index under which the cache of every owned kind lists the objects of an owner. */
export const ownerIndex = {
  'kidp-owner': (object: KubernetesObject): string[] => asList(ownerKey(object as OwnedObject)),
};
const indexName = 'kidp-owner';

/** `ownerKey` returns `Team/backend-team` or `Application/team-backend/user-service`; undefined without an owner. */
function ownerKey({ metadata, spec }: OwnedObject): string | undefined {
  const owner = spec?.owner;
  return owner === undefined ? undefined : keyOfOwner(owner, metadata.namespace);
}

function keyOfOwner({ kind, name, namespace }: OwnerName, ownNamespace: string | undefined): string {
  return kind === 'Team' ? `Team/${name}` : `Application/${namespace ?? ownNamespace ?? ''}/${name}`;
}

/** The key of an owner in the index. */
export const keyAsOwner = ({ kind, metadata }: KubernetesObject): string =>
  kind === 'Team' ? `Team/${metadata.name}` : `Application/${metadata.namespace ?? ''}/${metadata.name}`;

/** The source of objects: the caches of a manager, or lists in memory. */
export interface OwnershipView {
  team(name: string): Team | undefined;
  /** All Teams that name the namespace. */
  teamsOf(namespace: string): Team[];
  /** The Team that the namespace belongs to. */
  teamOf(namespace: string): Team | undefined;
  application(namespace: string, name: string): Application | undefined;
  /** The objects of all kinds that name this owner directly. */
  directlyOwned(owner: string): OwnedObject[];
}

/**
 * `allOwned` lists everything below an owner, Applications before their resources. Members of a cycle are listed once.
 */
export function allOwned(owner: string, view: OwnershipView): OwnedObject[] {
  const found: OwnedObject[] = [];
  const seen = new Set([owner]);
  const waiting = [owner];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    for (const object of view.directlyOwned(next)) {
      if (object.kind === 'Application') {
        const key = keyAsOwner(object);
        if (seen.has(key)) continue;
        seen.add(key);
        waiting.push(key);
      }
      found.push(object);
    }
  }
  return found;
}

export interface OwnerPath {
  /**
   * How the chain ends. `team`: at a Team. `none`: no owner is set. `missing`: an owner does not exist. `cycle`: it
   * never ends.
   */
  readonly end: 'team' | 'none' | 'missing' | 'cycle';
  readonly team?: Team;
  /** The Applications in the chain, nearest first, as `namespace/name`. */
  readonly applications: readonly string[];
  /** The missing owner, for messages. */
  readonly missing?: string;
}

/** `ownerPath` follows the owner chain of an object. */
export function ownerPath(object: OwnedObject, view: Pick<OwnershipView, 'team' | 'application'>): OwnerPath {
  const applications: string[] = [];
  const seen = new Set(object.kind === 'Application' ? [keyAsOwner(object)] : []);
  let { namespace } = object.metadata;
  for (let owner = object.spec.owner; ; ) {
    if (owner === undefined) return { end: 'none', applications };
    if (owner.kind === 'Team') {
      const found = view.team(owner.name);
      return found === undefined
        ? { end: 'missing', applications, missing: `Team ${owner.name}` }
        : { end: 'team', team: found, applications };
    }
    const where = owner.namespace ?? namespace ?? '';
    if (seen.has(`Application/${where}/${owner.name}`)) return { end: 'cycle', applications };
    seen.add(`Application/${where}/${owner.name}`);
    const found = view.application(where, owner.name);
    if (found === undefined) return { end: 'missing', applications, missing: `Application ${where}/${owner.name}` };
    applications.push(`${where}/${owner.name}`);
    [owner, namespace] = [found.spec.owner, where];
  }
}

/**
 * `isOfItsNamespace` reports whether the team of the owner is the team of the namespace. An object without an owner, or
 * whose owner does not exist yet, is of its namespace.
 */
export function isOfItsNamespace(object: OwnedObject, view: Owners): boolean {
  const { team: owner } = ownerPath(object, view);
  return owner === undefined || view.teamOf(object.metadata.namespace ?? '')?.metadata.name === owner.metadata.name;
}

type Owners = Pick<OwnershipView, 'team' | 'application' | 'teamOf'>;

/**
 * `payersOf` returns the Team and the Applications that an object counts for: those above it, up to the first one that is
 * not of the team of its namespace. Anyone who may write in some namespace can name any owner there.
 */
export function payersOf(object: OwnedObject, view: Owners): Pick<OwnerPath, 'team' | 'applications'> {
  const { team: owner, applications } = ownerPath(object, view);
  const { namespace = '' } = object.metadata;
  const foreign = applications.findIndex((key) => !isOfOneTeam(namespace, key.slice(0, key.indexOf('/')), view));
  if (foreign >= 0) return { applications: applications.slice(0, foreign) };
  const isOwn = owner !== undefined && view.teamOf(namespace)?.metadata.name === owner.metadata.name;
  return { applications, ...(isOwn ? { team: owner } : {}) };
}

/** `countsFor` reports whether an object below a Team or Application counts for it, and keeps it from being deleted. */
export const countsFor =
  (owner: KubernetesObject, view: Owners) =>
  ({ metadata: { namespace = '' } }: OwnedObject): boolean =>
    owner.kind === 'Team'
      ? view.teamOf(namespace)?.metadata.name === owner.metadata.name
      : isOfOneTeam(namespace, owner.metadata.namespace ?? '', view);

function isOfOneTeam(namespace: string, other: string, view: Pick<OwnershipView, 'teamOf'>): boolean {
  if (namespace === other) return true;
  const home = view.teamOf(namespace)?.metadata.name;
  return home !== undefined && home === view.teamOf(other)?.metadata.name;
}

/** `costTagsOf` merges the cost tags of the Team, the Applications in the chain and the object; the nearest wins. */
export function costTagsOf(object: OwnedObject, view: Owners): Readonly<Record<string, string>> {
  const { team: atTheEnd, applications } = payersOf(object, view);
  const between = applications.map((key) => {
    const [namespace = '', name = ''] = key.split('/');
    return view.application(namespace, name)?.spec.costTags;
  });
  return Object.assign({}, atTheEnd?.spec.costTags, ...between.toReversed(), object.spec.costTags);
}

/**
 * `cachedOwnership` reads the caches of a manager. They must hold all Teams (`teamIndex`) and every owned kind
 * (`ownerIndex`).
 */
export function cachedOwnership(
  store: <T extends KubernetesObject>(resource: Resource) => ReadonlyStore<T>,
): OwnershipView {
  const teamsOf = (namespace: string) => store<Team>(team.resource).byIndex('kidp-namespace', namespace);
  return {
    team: (name) => store<Team>(team.resource).get({ name }),
    teamsOf,
    teamOf: (namespace) => teamOfNamespace(namespace, teamsOf(namespace)),
    application: (namespace, name) => store<Application>(application.resource).get({ namespace, name }),
    directlyOwned: (owner) =>
      ownedKinds.flatMap(({ resource }) => store<OwnedObject>(resource).byIndex(indexName, owner)),
  };
}

export const teamIndex = { 'kidp-namespace': (object: Team): string[] => [object.spec.namespace] };

/** `listedOwnership` reads objects in memory, such as manifests. */
export function listedOwnership(objects: readonly KubernetesObject[]): OwnershipView {
  const teams = objects.filter((object) => object.kind === team.kind) as Team[];
  const teamsByName = new Map(teams.map((each) => [each.metadata.name, each]));
  const applications = new Map(
    objects.filter(({ kind }) => kind === application.kind).map((each) => [keyAsOwner(each), each as Application]),
  );
  const owned = Map.groupBy(
    objects.filter(({ kind }) => ownedKinds.some((each) => each.kind === kind)) as OwnedObject[],
    ownerKey,
  );
  return {
    team: (name) => teamsByName.get(name),
    teamsOf: (namespace) => teams.filter(({ spec }) => spec.namespace === namespace),
    teamOf: (namespace) => teamOfNamespace(namespace, teams),
    application: (namespace, name) => applications.get(`Application/${namespace}/${name}`),
    directlyOwned: (owner) => owned.get(owner) ?? [],
  };
}

/** `describeObject` returns, for example, `Service team-backend/user-api`. */
export const describeObject = ({ kind, metadata }: KubernetesObject): string =>
  `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;

/** `firstNames` lists the first names in order: `Service a/b, Service a/c and 1 more`. */
export function firstNames(names: readonly string[], shown = 5): string {
  const first = [...names].sort().slice(0, shown);
  const more = names.length - first.length;
  return more > 0 ? `${first.join(', ')} and ${more} more` : first.join(', ');
}

const asList = (value: string | undefined): string[] => (value === undefined ? [] : [value]);
