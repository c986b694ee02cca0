import { deployableKinds, type Kind, TEAM_LABEL } from '../../api/index.ts';
import {
  type Client,
  type Condition,
  controllerManagedBy,
  type EventRecorder,
  type KubernetesObject,
  type Manager,
  type ObjectKey,
  type ReadonlyStore,
} from '../../runtime/index.ts';
import { type Binding, type OwnedObject, ownedKinds } from '../platform/ownership.ts';
import { kubernetesSecrets, namespaces } from '../platform/resources.ts';
import { applyStatus, conditionOf } from '../platform/status.ts';
import { isAffected, namespaceTeamChanged, sourceChanged, usesSomething } from './changes.ts';
import { bindingSelector, connectionName, type SecretObject } from './connection.ts';
import { copyConnection, fieldManager, removeCopy } from './copy-connection.ts';
import { type Before, type Decision, decideBindings, type Found, type Obstacle } from './decide.ts';
import { dependenciesOf, matchesDependency, type TeamOfNamespace } from './visible.ts';

interface BindingOptions {
  readonly recorder: Pick<EventRecorder, 'record'>;
}

const retryMilliseconds = 30_000;
const copies = { labelSelector: bindingSelector };
/** Indexes users by the kind they depend on, cluster-wide and per namespace. */
const usesIndex = {
  'kidp-uses': (object: KubernetesObject): string[] =>
    dependenciesOf(object as OwnedObject).flatMap(({ kind }) => [kind, `${kind} ${object.metadata.namespace ?? ''}`]),
};
const sharedIndex = {
  'kidp-shared': (object: KubernetesObject): readonly string[] => (object as OwnedObject).spec.sharedWith ?? [],
};
const homeIndex = {
  'kidp-home': ({ metadata }: KubernetesObject): string[] => {
    const home = metadata.labels?.[TEAM_LABEL];
    return home === undefined ? [] : [home];
  },
};
const copyIndex = {
  'kidp-user': ({ metadata }: KubernetesObject): string[] => (metadata.ownerReferences ?? []).map(({ uid }) => uid),
};

export function addBindingReconcilers(manager: Manager, options: BindingOptions): void {
  for (const kind of ownedKinds) addBindingReconciler(manager, kind, options);
}

function addBindingReconciler(manager: Manager, kind: Kind, { recorder }: BindingOptions): void {
  const { caches } = manager;
  const teamOfNamespace: TeamOfNamespace = (namespace) =>
    caches.store(namespaces).get({ name: namespace })?.metadata.labels?.[TEAM_LABEL];
  const users = (): ReadonlyStore<OwnedObject> => caches.store<OwnedObject>(kind.resource);
  const namespacesOf = (home: string) => caches.store(namespaces).byIndex('kidp-home', home);
  /** The users that a source can affect: most sources are visible only in the namespaces of one team. */
  const near = ({ kind: used, metadata: { namespace = '' }, spec: { sharedWith = [] } }: OwnedObject) => {
    if (sharedWith.includes('*')) return users().byIndex('kidp-uses', used);
    const home = teamOfNamespace(namespace);
    const teams = home === undefined ? sharedWith : [home, ...sharedWith];
    const further = teams.flatMap((team) => namespacesOf(team).map(({ metadata }) => metadata.name));
    const within = new Set([namespace, ...sharedWith, ...further]);
    return [...within].flatMap((each) => users().byIndex('kidp-uses', `${used} ${each}`));
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
    .watches(
      namespaces,
      () =>
        [...users()]
          .filter((user) => dependenciesOf(user).length > 0)
          .map(({ metadata: { namespace = '', name } }) => ({ namespace, name })),
      { indexes: homeIndex, predicates: [namespaceTeamChanged] },
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
    const before = { bindings: user.status?.bindings ?? [], condition: conditionOf(user, 'DependenciesBound') };
    const dependencies = dependenciesOf(user);
    if (dependencies.length === 0 && own.length === 0 && before.condition === undefined && before.bindings.length === 0)
      return;
    const found = dependencies.map((dependency) => ({
      dependency,
      sources: visibleTo(user, dependency.kind, read.store.bind(read), teamOfNamespace).filter((source) =>
        matchesDependency(user, dependency, source, teamOfNamespace),
      ),
    }));
    const { decision, bindings } = await bind(client, user, own, found, before);
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
  const further =
    home === undefined
      ? []
      : store(namespaces)
          .byIndex('kidp-home', home)
          .map(({ metadata }) => metadata.name);
  const sharedWith = ['*', namespace, ...(home === undefined ? [] : [home])];
  return [
    ...new Set([
      ...[...new Set([namespace, ...further])].flatMap((each) => sources.byNamespace(each)),
      ...sharedWith.flatMap((each) => sources.byIndex('kidp-shared', each)),
    ]),
  ];
}

/** `bind` decides and writes the Secrets. A source that cannot be read counts as not ready. */
async function bind(
  client: Client,
  user: OwnedObject,
  own: readonly SecretObject[],
  found: readonly Found[],
  before: Before,
): Promise<{ decision: Decision; bindings: Binding[] }> {
  const obstacles = new Map<OwnedObject, Obstacle>();
  for (;;) {
    const decision = decideBindings(found, before, obstacles);
    const known = obstacles.size;
    const bindings: Binding[] = [];
    for (const source of decision.bound) {
      const copy = own.find(({ metadata }) => metadata.name === connectionName(user, source));
      const revision = await copyConnection(client, user, source, copy);
      if (typeof revision === 'object') obstacles.set(source, revision);
      else {
        const { namespace = '', name } = source.metadata;
        const secret = connectionName(user, source);
        bindings.push({ kind: source.kind as Binding['kind'], namespace, name, connectionSecret: secret, revision });
      }
    }
    if (obstacles.size === known) return { decision, bindings };
  }
}

/** Fields and condition are removed once the object has no dependencies. */
async function writeStatus(
  client: Client,
  kind: Kind,
  user: OwnedObject,
  decision: Decision | undefined,
  bindings: readonly Binding[],
  now: number,
): Promise<void> {
  const observedGeneration = user.metadata.generation ?? 0;
  if (decision === undefined) {
    const { name, namespace = '', resourceVersion } = user.metadata;
    const metadata = { name, namespace, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const body = { apiVersion: user.apiVersion, kind: user.kind, metadata };
    if (conditionOf(user, 'DependenciesBound') === undefined && user.status?.bindings === undefined) return;
    await client.apply(kind.resource, body, { subresource: 'status', fieldManager, force: true });
    return;
  }
  const conditions = [{ ...decision.condition, observedGeneration }];
  await applyStatus(
    client,
    kind.resource,
    user,
    { conditions, fields: { bindings: [...bindings] } },
    { now, fieldManager },
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
      `${kind} ${namespace}/${name} is no longer bound: it was deleted, is no longer shared, or no longer matches`,
    );
  }
  const isNew = ({ kind, namespace, name }: Binding) =>
    !before.bindings.some((old) => old.kind === kind && old.namespace === namespace && old.name === name);
  for (const { kind, namespace, name } of bindings.filter(isNew)) {
    say('Normal', 'Bound', `${kind} ${namespace}/${name} is bound`);
  }
  const previous = before.condition as Condition | undefined;
  if (
    condition.status === 'False' &&
    condition.reason !== 'DependencyNotReady' &&
    condition.reason !== previous?.reason &&
    lost.length === 0
  ) {
    say('Warning', condition.reason, condition.message ?? condition.reason);
  }
}
