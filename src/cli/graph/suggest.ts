/**
 * Suggests dependencies (requirement 001, "Dependency Discovery"): a Secret that is referenced by name although a selector would follow
 * its rotation, a resource that its application does not use, a selector that matches nothing.
 */
import {
  type Dependency,
  dependenciesOf,
  describeObject as idOf,
  matchesDependency,
  type OwnedObject,
  type SourceKind,
  selectorKinds,
  type TeamOfNamespace,
} from '../../reconcile/index.ts';
import type { GraphEdge } from './build.ts';

export interface Suggestion {
  readonly reason: 'secret-named-by-hand' | 'unused' | 'matches-nothing';
  /** The object to change. */
  readonly for: string;
  /** The object that it should use, if known. */
  readonly use?: string;
  readonly message: string;
  /** The field to set. */
  readonly field?: string;
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
}

/** `Known` holds all objects, with lookups. */
export interface Known {
  readonly all: readonly OwnedObject[];
  readonly byKind: ReadonlyMap<string, readonly OwnedObject[]>;
  readonly teamOfNamespace: TeamOfNamespace;
}

export function suggestions(
  known: Known,
  usage: readonly GraphEdge[],
  applicationOf: (object: OwnedObject) => string | undefined,
): Suggestion[] {
  const { all, byKind, teamOfNamespace } = known;
  const pairs = new Set(usage.map(({ from, to }) => `${from} → ${to}`));
  const sources = sourceKinds.flatMap((kind) => byKind.get(kind) ?? []);
  const bySecret = Map.groupBy(sources, (source) => `${source.metadata.namespace ?? ''}/${secretOf(source)}`);
  const byHand = all.flatMap((user) => namedByHand(user, bySecret, pairs, known));
  const used = new Set([...usage.map(({ to }) => to), ...byHand.map(({ use }) => use)]);
  const services = Map.groupBy(byKind.get('Service') ?? [], applicationOf);
  const unused = sources
    .filter((source) => !used.has(idOf(source)))
    .flatMap((source) => unusedOf(source, applicationOf(source), services, known));
  const nothing = all.flatMap((user) =>
    dependenciesOf(user)
      .filter(({ selector }) => selector.expect !== 'Any')
      .filter(
        ({ kind, ...rest }) =>
          !byKind.get(kind)?.some((source) => matchesDependency(user, { kind, ...rest }, source, teamOfNamespace)),
      )
      .map((dependency) => matchesNothing(user, dependency, known)),
  );
  return [...byHand, ...unused, ...nothing];
}

/** The kinds that are reported as unused. Services are not among them, because they are also used from outside the platform. */
const sourceKinds: readonly SourceKind[] = ['Database', 'Cache', 'Topic', 'Secret'];

interface WithVariables {
  env?: readonly { name: string; valueFrom?: { secretKeyRef?: { name: string } } }[];
}

function namedByHand(
  user: OwnedObject,
  bySecret: ReadonlyMap<string, readonly OwnedObject[]>,
  pairs: ReadonlySet<string>,
  known: Known,
): Suggestion[] {
  const variables = Map.groupBy(
    ((user.spec as WithVariables).env ?? []).filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined),
    ({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? '',
  );
  return [...variables].flatMap(([secret, names]) =>
    (bySecret.get(`${user.metadata.namespace ?? ''}/${secret}`) ?? [])
      .filter((source) => !pairs.has(`${idOf(user)} → ${idOf(source)}`))
      .map((source) => ({
        reason: 'secret-named-by-hand' as const,
        for: idOf(user),
        use: idOf(source),
        message: `its environment variables ${names.map(({ name }) => name).join(', ')} read the Secret ${secret} of ${idOf(source)}: declare the dependency, so that it is notified of every rotation`,
        ...selecting(source, known),
      })),
  );
}

/** `secretOf` returns the name of the Secret with the credentials of a resource, even if it does not exist yet. */
function secretOf({ kind, metadata, spec, status }: OwnedObject): string {
  const { connectionSecret, secretName } = spec as { connectionSecret?: { name?: string }; secretName?: string };
  if (status?.connectionSecret !== undefined) return status.connectionSecret.name;
  return kind === 'Secret' ? (secretName ?? metadata.name) : (connectionSecret?.name ?? `${metadata.name}-connection`);
}

function unusedOf(
  source: OwnedObject,
  application: string | undefined,
  services: ReadonlyMap<string | undefined, readonly OwnedObject[]>,
  known: Known,
): Suggestion[] {
  if (application === undefined) return [];
  return (services.get(application) ?? []).map((user) => ({
    reason: 'unused' as const,
    for: idOf(user),
    use: idOf(source),
    message: `${idOf(source)} belongs to the same Application ${application}, and nothing uses it`,
    ...selecting(source, known),
  }));
}

function matchesNothing(user: OwnedObject, { field, kind, selector }: Dependency, { byKind }: Known): Suggestion {
  const wanted = Object.entries(selector.matchLabels ?? {});
  const differences = (source: OwnedObject) => wanted.filter(([key, value]) => source.metadata.labels?.[key] !== value);
  const [near] = (byKind.get(kind) ?? [])
    .filter(({ metadata }) => metadata.namespace === user.metadata.namespace)
    .filter((source) => differences(source).length < Math.max(wanted.length, 2))
    .sort((one, other) => differences(one).length - differences(other).length);
  const nearly =
    near === undefined
      ? `create a ${kind} with these labels, or ask another team to share one and name that team in spec.dependencies.${field}.fromTeams`
      : `${idOf(near)} is similar: ${differences(near)
          .map(([key, value]) => `label ${key} is ${near.metadata.labels?.[key] ?? 'unset'}, want ${value}`)
          .join(', ')}`;
  return { reason: 'matches-nothing', for: idOf(user), message: `its ${field} matches no ${kind}: ${nearly}` };
}

/** `selecting` returns the fewest labels that select only this resource of its kind; labels of the platform are not unique. */
function selecting(source: OwnedObject, { byKind }: Known): Pick<Suggestion, 'field' | 'selector'> {
  const labels = Object.entries(source.metadata.labels ?? {}).filter(
    ([key]) => !key.startsWith('platform.company.com/'),
  );
  const field = Object.keys(selectorKinds).find((each) => selectorKinds[each] === (source.kind as SourceKind));
  if (labels.length === 0 || field === undefined) return {};
  const others = (byKind.get(source.kind) ?? []).filter((other) => other !== source);
  const isUnique = ([key, value]: [string, string]) => others.every(({ metadata }) => metadata.labels?.[key] !== value);
  const enough = labels.find(isUnique);
  const matchLabels = Object.fromEntries(enough === undefined ? labels : [enough]);
  return { field: `spec.dependencies.${field}`, selector: { matchLabels } };
}
