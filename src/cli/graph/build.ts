/** Builds the graph of the platform from objects: owners, dependencies and suggested dependencies. */
import { type Team, team as teamKind, teamOfNamespace } from '../../api/index.ts';
import {
  allOwned,
  dependenciesOf,
  describeObject as idOf,
  keyAsOwner,
  listedOwnership,
  matchesDependency,
  type OwnedObject,
  ownedKinds,
  ownerPath,
  type TeamOfNamespace,
} from '../../reconcile/index.ts';
import type { KubernetesObject } from '../../runtime/index.ts';
import { type Known, type Suggestion, suggestions } from './suggest.ts';

export interface GraphNode {
  /** The kind and name, such as `Service team-backend/user-api`. */
  readonly id: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly phase?: string;
  /** Set for an owner that an object names but that does not exist. */
  readonly missing?: true;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly relation: 'owns' | 'uses';
  /** The state of a dependency: `bound` by the platform, or only matched by the selector so far. */
  readonly state?: 'bound' | 'matches';
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly suggestions: readonly Suggestion[];
}

/** `buildGraph` builds the graph. With a Team, it contains only its objects, their dependencies and their dependents. */
export function buildGraph(objects: readonly KubernetesObject[], team?: Team): Graph {
  const shown = objects.filter(({ kind }) => kind === teamKind.kind || ownedKinds.some((each) => each.kind === kind));
  const owned = shown.filter(({ kind }) => kind !== teamKind.kind) as OwnedObject[];
  const view = listedOwnership(shown);
  const known = { all: owned, byKind: Map.groupBy(owned, ({ kind }) => kind), teamOfNamespace: homesIn(objects) };
  const nodes = new Map(shown.map((object) => [idOf(object), nodeOf(object)]));
  const ownership = owned.flatMap((object) => ownsEdge(object, nodes));
  const usage = owned.flatMap((object) => usesEdges(object, known));
  const edges = [...ownership, ...usage];
  const found = suggestions(known, usage, (object) => ownerPath(object, view).applications[0]);
  if (team === undefined) return { nodes: [...nodes.values()], edges, suggestions: found };
  const own = new Set([idOf(team), ...allOwned(keyAsOwner(team), view).map(idOf)]);
  const touching = edges.filter(({ from, to }) => own.has(from) || own.has(to));
  const near = new Set([...own, ...touching.flatMap(({ from, to }) => [from, to])]);
  return {
    nodes: [...nodes.values()].filter(({ id }) => near.has(id)),
    edges: touching,
    suggestions: found.filter((suggestion) => own.has(suggestion.for) || own.has(suggestion.use ?? '')),
  };
}

/** `homesIn` maps namespaces to teams, by the Teams among the objects. */
function homesIn(objects: readonly KubernetesObject[]): TeamOfNamespace {
  const teams = objects.filter(({ kind }) => kind === teamKind.kind) as Team[];
  const byNamespace = Map.groupBy(teams, ({ spec }) => spec.namespace);
  return (namespace) => teamOfNamespace(namespace, byNamespace.get(namespace) ?? []);
}

function nodeOf(object: KubernetesObject): GraphNode {
  const { kind, metadata } = object;
  const { phase } = (object as OwnedObject).status ?? {};
  return {
    id: idOf(object),
    kind,
    ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
    name: metadata.name,
    ...(phase === undefined ? {} : { phase }),
  };
}

function ownsEdge(object: OwnedObject, nodes: Map<string, GraphNode>): GraphEdge[] {
  const owner = object.spec?.owner;
  if (owner === undefined) return [];
  const namespace = owner.kind === 'Team' ? undefined : (owner.namespace ?? object.metadata.namespace);
  const node: GraphNode = {
    id: `${owner.kind} ${namespace === undefined ? '' : `${namespace}/`}${owner.name}`,
    kind: owner.kind,
    ...(namespace === undefined ? {} : { namespace }),
    name: owner.name,
    missing: true,
  };
  if (!nodes.has(node.id)) nodes.set(node.id, node);
  return [{ from: node.id, to: idOf(object), relation: 'owns' }];
}

function usesEdges(user: OwnedObject, { byKind, teamOfNamespace }: Known): GraphEdge[] {
  const bound = new Set(
    (user.status?.bindings ?? []).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`),
  );
  const matched = dependenciesOf(user).flatMap((dependency) =>
    (byKind.get(dependency.kind) ?? [])
      .filter((source) => matchesDependency(user, dependency, source, teamOfNamespace))
      .map(idOf),
  );
  return [...new Set([...bound, ...matched])].map((to) => ({
    from: idOf(user),
    to,
    relation: 'uses',
    state: bound.has(to) ? 'bound' : 'matches',
  }));
}
