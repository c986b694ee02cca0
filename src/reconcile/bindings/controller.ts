import { isDeepStrictEqual } from 'node:util';
import { deployableKinds, type Kind, type Team, team } from '../../api/index.ts';
import { variableConflicts } from '../../broker/index.ts';
import {
  type Client,
  type Condition,
  controllerManagedBy,
  type EventRecorder,
  generationChanged,
  type KubernetesObject,
  type Manager,
  type ObjectKey,
  type ReadonlyStore,
} from '../../runtime/index.ts';
import {
  type Binding,
  cachedOwnership,
  isOfItsNamespace,
  type OwnedObject,
  ownedKinds,
  teamIndex,
} from '../platform/ownership.ts';
import { kubernetesSecrets } from '../platform/resources.ts';
import { applyStatus, conditionOf } from '../platform/status.ts';
import { isAffected, sourceChanged, usesSomething } from './changes.ts';
import { addressOf, bindingSelector, type Connection, connectionName, type SecretObject } from './connection.ts';
import { copyConnection, fieldManager, readConnection, removeCopy } from './copy-connection.ts';
import {
  type Before,
  type Decision,
  decideBindings,
  type Found,
  hasConnection,
  inOrder,
  isOf,
  type Obstacle,
} from './decide.ts';
import { Settling } from './settling.ts';
import { dependenciesOf, matchOf, type TeamOfNamespace } from './visible.ts';

interface BindingOptions {
  readonly recorder: Pick<EventRecorder, 'record'>;
  /** How long changes of the bindings of a deployed object are collected before it is deployed with all of them. */
  readonly settleMilliseconds?: number;
}

const retryMilliseconds = 30_000;
const copies = { labelSelector: bindingSelector };
/** Indexes users by the kind they depend on, with their namespace and with each team that they name. */
const usesIndex = {
  'kidp-uses': (object: KubernetesObject): string[] =>
    dependenciesOf(object as OwnedObject).flatMap(({ kind, selector: { fromTeams = [] } }) => [
      `${kind} in ${object.metadata.namespace ?? ''}`,
      ...fromTeams.map((team) => `${kind} from ${team}`),
    ]),
};
const sharedIndex = {
  'kidp-shared': (object: KubernetesObject): readonly string[] => (object as OwnedObject).spec.sharedWith ?? [],
};
const copyIndex = {
  'kidp-user': ({ metadata }: KubernetesObject): string[] => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
};

export function addBindingReconcilers(manager: Manager, options: BindingOptions): void {
  for (const kind of ownedKinds) addBindingReconciler(manager, kind, options);
}

function addBindingReconciler(manager: Manager, kind: Kind, { recorder, settleMilliseconds }: BindingOptions): void {
  const { caches } = manager;
  const view = cachedOwnership((resource) => caches.store(resource));
  const teamOfNamespace: TeamOfNamespace = (namespace) => view.teamOf(namespace);
  const settling = new Settling(manager.clock, settleMilliseconds);
  const users = (): ReadonlyStore<OwnedObject> => caches.store<OwnedObject>(kind.resource);
  /** The users that a source can affect. Those of teams that did not ask for it are not even looked at. */
  const near = ({ kind: used, metadata: { namespace = '' } }: OwnedObject) => {
    const home = teamOfNamespace(namespace)?.metadata.name;
    const keys = [`${used} in ${namespace}`, ...(home === undefined ? [] : [`${used} from ${home}`])];
    return [...new Set(keys.flatMap((key) => users().byIndex('kidp-uses', key)))];
  };
  const usersOf = (source: OwnedObject): ObjectKey[] =>
    near(source)
      .filter((user) => isAffected(user, source, teamOfNamespace))
      .map(({ metadata: { namespace = '', name } }) => ({ namespace, name }));

  const builder = controllerManagedBy(manager, `bindings-${kind.plural}`)
    .for<OwnedObject>(kind.resource, {
      indexes: { ...usesIndex, ...sharedIndex } as Record<string, (object: OwnedObject) => readonly string[]>,
      predicates: [usesSomething],
    })
    .owns<SecretObject>(kubernetesSecrets, { ...copies, indexes: copyIndex })
    .watches<Team>(
      team.resource,
      () =>
        [...users()]
          .filter((user) => dependenciesOf(user).length > 0)
          .map(({ metadata: { namespace = '', name } }) => ({ namespace, name })),
      { indexes: teamIndex, predicates: [generationChanged] },
    );
  for (const source of deployableKinds) {
    builder.watches<OwnedObject>(source.resource, usersOf, {
      indexes: sharedIndex as Record<string, (object: OwnedObject) => readonly string[]>,
      predicates: [sourceChanged],
    });
  }

  // Most of a reconcile is waiting for the API server: reading a Secret, writing a Secret, writing the status.
  builder.withOptions({ maxConcurrentReconciles: 16 }).complete(async (key, { client, read }) => {
    const user = await read.get<OwnedObject>(kind.resource, key);
    if (user === undefined || user.metadata.deletionTimestamp !== undefined) return;
    const own = read.store<SecretObject>(kubernetesSecrets, copies).byIndex('kidp-user', user.metadata.uid ?? '');
    const condition = conditionOf(user, 'DependenciesBound');
    const isDeployed =
      user.status?.deploymentId !== undefined && condition?.observedGeneration === user.metadata.generation;
    const before = { bindings: user.status?.bindings ?? [], condition, holds: isDeployed };
    const dependencies = dependenciesOf(user);
    if (dependencies.length === 0 && own.length === 0 && condition === undefined && before.bindings.length === 0)
      return;
    const found = dependencies.map((dependency) => {
      const sources = isOfItsNamespace(user, view)
        ? visibleTo(user, dependency.kind, read.store.bind(read), teamOfNamespace).filter((source) =>
            isOfItsNamespace(source, view),
          )
        : [];
      const matches = Map.groupBy(sources, (source) => matchOf(user, dependency, source, teamOfNamespace));
      const teamOf = ({ metadata }: OwnedObject) => view.teamOf(metadata.namespace ?? '')?.metadata.name ?? '';
      return {
        dependency,
        own: matches.get('own') ?? [],
        foreign: matches.get('foreign') ?? [],
        unasked: (matches.get('unasked') ?? []).map((source) => ({ source, team: teamOf(source) })),
      };
    });
    const { decision, bindings } = await bind(client, user, own, found, before);
    const changes = isDeployed && !isDeepStrictEqual(bindings, before.bindings);
    const wait = settling.wait(user.metadata.uid ?? '', changes);
    if (wait > 0) return { requeueAfterMilliseconds: wait };
    await writeStatus(
      client,
      kind,
      user,
      dependencies.length === 0 ? undefined : decision,
      bindings,
      manager.clock.now(),
    );
    recordEvents(recorder, user, before, decision, bindings);
    for (const copy of own) {
      if (bindings.some(({ connectionSecret: name }) => name === copy.metadata.name)) continue;
      await removeCopy(client, copy);
    }
    // A conflicting or missing Secret is not watched, so the request is retried on a timer.
    return decision.condition.status === 'True' ? undefined : { requeueAfterMilliseconds: retryMilliseconds };
  });
}

/** `visibleTo` finds the sources of a kind that this user may see, through indexes. */
function visibleTo(
  user: OwnedObject,
  kind: string,
  store: (resource: Kind['resource']) => ReadonlyStore<KubernetesObject>,
  teamOfNamespace: TeamOfNamespace,
): OwnedObject[] {
  const resource = deployableKinds.find((each) => each.kind === kind)?.resource;
  if (resource === undefined) return [];
  const sources = store(resource) as unknown as ReadonlyStore<OwnedObject>;
  const { namespace = '' } = user.metadata;
  const home = teamOfNamespace(namespace);
  const sharedWith = home === undefined ? [] : ['*', home.spec.namespace];
  return [
    ...new Set([
      ...sources.byNamespace(namespace),
      ...sharedWith.flatMap((each) => sources.byIndex('kidp-shared', each)),
    ]),
  ];
}

/**
 * `bind` decides and writes the Secrets. A source that cannot be read counts as not ready. Matches that wait for the
 * next deployment are bound as soon as another change of the bindings causes one.
 */
async function bind(
  client: Client,
  user: OwnedObject,
  own: readonly SecretObject[],
  found: readonly Found[],
  before: Before,
): Promise<{ decision: Decision; bindings: Binding[] }> {
  const obstacles = new Map<OwnedObject, Obstacle>();
  const connections = new Map<OwnedObject, Connection>();
  const copyOf = (source: OwnedObject) => own.find(({ metadata }) => metadata.name === connectionName(user, source));
  for (let { holds } = before; ; ) {
    const decision = decideBindings(found, { ...before, holds }, obstacles);
    const known = obstacles.size;
    // A conflict is reported before the next deployment meets it. Only Services have variables.
    const further = user.kind === 'Service' ? decision.later.filter(hasConnection) : [];
    for (const source of [...decision.bound, ...further]) {
      if (connections.has(source) || obstacles.has(source)) continue;
      const connection = await readConnection(client, source, copyOf(source));
      if ('kind' in connection) obstacles.set(source, connection);
      else connections.set(source, connection);
    }
    if (user.kind === 'Service' && obstacles.size === known) {
      const ordered = inOrder([...decision.bound, ...further], found, { ...before, holds });
      const conflict = conflictAmong(ordered, connections, before, obstacles);
      if (conflict !== undefined) obstacles.set(...conflict);
    }
    if (obstacles.size > known) continue;
    const bindings: Binding[] = decision.bound.map((source) => ({
      kind: source.kind as Binding['kind'],
      namespace: source.metadata.namespace ?? '',
      name: source.metadata.name,
      connectionSecret: connectionName(user, source),
      revision: connections.get(source)?.revision ?? '',
    }));
    if (decision.later.length > 0 && !isDeepStrictEqual(bindings, before.bindings)) {
      holds = false;
      continue;
    }
    for (const source of decision.bound) {
      const connection = connections.get(source) ?? addressOf(source);
      const obstacle = await copyConnection(client, user, source, connection, copyOf(source));
      if (obstacle !== undefined) obstacles.set(source, obstacle);
    }
    if (obstacles.size === known) return { decision, bindings };
  }
}

/** `conflictAmong` finds a source, in order of precedence, whose variables another one before it already has. */
function conflictAmong(
  ordered: readonly OwnedObject[],
  connections: ReadonlyMap<OwnedObject, Connection>,
  { bindings }: Before,
  obstacles: ReadonlyMap<OwnedObject, Obstacle>,
): [OwnedObject, Obstacle] | undefined {
  const entries = ordered.map((source) => {
    const { kind, metadata } = source;
    const resource = { kind, namespace: metadata.namespace ?? '', name: metadata.name, source };
    return [resource, Object.keys(connections.get(source)?.data ?? {}).sort()] as const;
  });
  const conflict = variableConflicts(entries).find(({ second }) => !obstacles.has(second.source));
  if (conflict === undefined) return undefined;
  const { first, second, text } = conflict;
  const isBound = (source: OwnedObject) => bindings.some((binding) => isOf(binding, source));
  return [second.source, { kind: 'variable', text, kept: isBound(first.source) && isBound(second.source) }];
}

/**
 * Fields and condition are removed once the object has no dependencies. Entries of other writers stay in the list when
 * ours are applied, so they are removed afterwards.
 */
async function writeStatus(
  client: Client,
  kind: Kind,
  user: OwnedObject,
  decision: Decision | undefined,
  bindings: readonly Binding[],
  now: number,
): Promise<void> {
  const { name, namespace = '', resourceVersion } = user.metadata;
  let written: Pick<OwnedObject, 'metadata' | 'status'> | undefined;
  if (decision === undefined) {
    const metadata = { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const body = { apiVersion: user.apiVersion, kind: user.kind, metadata };
    if (conditionOf(user, 'DependenciesBound') === undefined && user.status?.bindings === undefined) return;
    written = await client.apply(kind.resource, body, { subresource: 'status', fieldManager, force: true });
  } else {
    const conditions = [{ ...decision.condition, observedGeneration: user.metadata.generation ?? 0 }];
    const desired = { conditions, fields: { bindings: [...bindings] } };
    written = await applyStatus(client, kind.resource, user, desired, { now, fieldManager });
  }
  const { status, metadata } = written ?? user;
  if (isDeepStrictEqual(status?.bindings ?? [], bindings)) return;
  const body = {
    metadata: { resourceVersion: metadata.resourceVersion },
    status: { bindings: bindings.length === 0 ? null : bindings },
  };
  await client.patch(
    kind.resource,
    { namespace, name },
    { type: 'merge', body },
    { subresource: 'status', fieldManager },
  );
}

function recordEvents(
  recorder: Pick<EventRecorder, 'record'>,
  user: OwnedObject,
  before: Before,
  { lost, condition }: Decision,
  bindings: readonly Binding[],
): void {
  const say = (type: 'Normal' | 'Warning', reason: string, note: string) =>
    recorder.record({ regarding: user, type, reason, action: 'Bind', note });
  for (const { kind, namespace, name } of lost) {
    say(
      'Warning',
      'BindingLost',
      `${kind} ${namespace}/${name} is no longer bound: it was deleted, is no longer shared, no longer matches, or is of a team that the selector does not name in fromTeams`,
    );
  }
  const isNew = ({ kind, namespace, name }: Binding) =>
    !before.bindings.some((old) => old.kind === kind && old.namespace === namespace && old.name === name);
  for (const { kind, namespace, name } of bindings.filter(isNew)) {
    say('Normal', 'Bound', `${kind} ${namespace}/${name} is bound`);
  }
  const previous = before.condition as Condition | undefined;
  if (
    condition.reason !== 'AllBound' &&
    condition.reason !== 'DependencyNotReady' &&
    condition.reason !== previous?.reason &&
    lost.length === 0
  ) {
    say('Warning', condition.reason, condition.message ?? condition.reason);
  }
}
