/**
 * What could be used and is not (requirement 001, "Dependency Discovery"): a Secret that is named by hand where a selector would follow
 * its rotation, a resource that nobody of its application uses, a selector that finds nothing.
 */
import {
  type Demand,
  demandsOf,
  finds,
  type HomeOf,
  type OwnedObject,
  type SourceKind,
  selectorKinds,
} from '../../reconcile/index.ts';
import type { GraphEdge } from './build.ts';

export interface Suggestion {
  readonly reason: 'secret-named-by-hand' | 'unused' | 'matches-nothing';
  /** Who should change. */
  readonly for: string;
  /** What it should use, where that is known. */
  readonly use?: string;
  readonly message: string;
  /** To put there. */
  readonly field?: string;
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
}

export function suggestions(
  all: readonly OwnedObject[],
  usage: readonly GraphEdge[],
  homeOf: HomeOf,
  applicationOf: (object: OwnedObject) => string | undefined,
): Suggestion[] {
  const used = new Set(usage.map(({ from, to }) => `${from} → ${to}`));
  const byHand = all.flatMap((user) => namedByHand(user, all, used));
  const asked = new Set(byHand.map(({ use }) => use));
  const unused = all
    .filter((source) => isSource(source) && !usage.some(({ to }) => to === idOf(source)) && !asked.has(idOf(source)))
    .flatMap((source) => unusedOf(source, all, applicationOf));
  const nothing = all.flatMap((user) =>
    demandsOf(user)
      .filter(({ selector }) => selector.expect !== 'Any')
      .filter((demand) => !all.some((source) => finds(user, demand, source, homeOf)))
      .map((demand) => matchesNothing(user, demand, all)),
  );
  return [...byHand, ...unused, ...nothing];
}

const idOf = ({ kind, metadata }: OwnedObject): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

/** Services are used from outside as well: that nobody here uses one says nothing. */
const isSource = ({ kind }: OwnedObject): boolean => ['Database', 'Cache', 'Topic', 'Secret'].includes(kind);

interface WithVariables {
  env?: readonly { name: string; valueFrom?: { secretKeyRef?: { name: string } } }[];
}

function namedByHand(user: OwnedObject, all: readonly OwnedObject[], used: ReadonlySet<string>): Suggestion[] {
  const variables = Map.groupBy(
    ((user.spec as WithVariables).env ?? []).filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined),
    ({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? '',
  );
  return [...variables].flatMap(([secret, names]) =>
    all
      .filter((source) => isSource(source) && source.metadata.namespace === user.metadata.namespace)
      .filter((source) => secretOf(source) === secret && !used.has(`${idOf(user)} → ${idOf(source)}`))
      .map((source) => ({
        reason: 'secret-named-by-hand' as const,
        for: idOf(user),
        use: idOf(source),
        message: `its variables ${names.map(({ name }) => name).join(', ')} read the Secret ${secret} of ${idOf(source)}: say that it uses it, and it is told of every rotation`,
        ...selecting(source, all),
      })),
  );
}

/** The Secret that the credentials of a resource are in, or will be. */
function secretOf({ kind, metadata, spec, status }: OwnedObject): string {
  const { connectionSecret, secretName } = spec as { connectionSecret?: { name?: string }; secretName?: string };
  if (status?.connectionSecret !== undefined) return status.connectionSecret.name;
  return kind === 'Secret' ? (secretName ?? metadata.name) : (connectionSecret?.name ?? `${metadata.name}-connection`);
}

function unusedOf(
  source: OwnedObject,
  all: readonly OwnedObject[],
  applicationOf: (object: OwnedObject) => string | undefined,
): Suggestion[] {
  const application = applicationOf(source);
  if (application === undefined) return [];
  return all
    .filter((user) => user.kind === 'Service' && applicationOf(user) === application)
    .map((user) => ({
      reason: 'unused' as const,
      for: idOf(user),
      use: idOf(source),
      message: `${idOf(source)} belongs to the same Application ${application}, and nothing uses it`,
      ...selecting(source, all),
    }));
}

function matchesNothing(user: OwnedObject, { field, kind, selector }: Demand, all: readonly OwnedObject[]): Suggestion {
  const wanted = Object.entries(selector.matchLabels ?? {});
  const differences = (source: OwnedObject) => wanted.filter(([key, value]) => source.metadata.labels?.[key] !== value);
  const [near] = all
    .filter((source) => source.kind === kind && source.metadata.namespace === user.metadata.namespace)
    .filter((source) => differences(source).length < Math.max(wanted.length, 2))
    .sort((one, other) => differences(one).length - differences(other).length);
  const nearly =
    near === undefined
      ? `create a ${kind} with these labels, or have one shared`
      : `${idOf(near)} is near: ${differences(near)
          .map(([key, value]) => `${key} is ${near.metadata.labels?.[key] ?? 'not there'}, not ${value}`)
          .join(', ')}`;
  return { reason: 'matches-nothing', for: idOf(user), message: `its ${field} matches no ${kind}: ${nearly}` };
}

/** The fewest labels that tell a resource from others of its kind. Keys of the platform itself are the same on all. */
function selecting(source: OwnedObject, all: readonly OwnedObject[]): Pick<Suggestion, 'field' | 'selector'> {
  const labels = Object.entries(source.metadata.labels ?? {}).filter(
    ([key]) => !key.startsWith('platform.company.com/'),
  );
  const field = Object.keys(selectorKinds).find((each) => selectorKinds[each] === (source.kind as SourceKind));
  if (labels.length === 0 || field === undefined) return {};
  const others = all.filter((other) => other.kind === source.kind && other !== source);
  const tells = ([key, value]: [string, string]) => others.every(({ metadata }) => metadata.labels?.[key] !== value);
  const enough = labels.find(tells);
  const matchLabels = Object.fromEntries(enough === undefined ? labels : [enough]);
  return { field: `spec.dependencies.${field}`, selector: { matchLabels } };
}
