/** Provides the other objects that a decision may read: from the files, the command line and, if given, the cluster. */
import type { Schema } from '../../cel/index.ts';
import type { Json, ObjectQuery, World } from '../../policy/index.ts';
import { labelsOf, selects } from '../../policy/internal.ts';
import { schemaOf, schemasOf } from './defaults.ts';

interface WorldInput {
  readonly now: number;
  /** All objects that were read, whether they are evaluated or only used as context. */
  readonly objects: readonly Json[];
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Objects of a cluster, by `apiVersion kind`: for these kinds the list is complete. */
  readonly live?: ReadonlyMap<string, readonly Json[]>;
}

export function worldOf({ now, objects, namespaceLabels, live = new Map() }: WorldInput): World {
  const kinds = indexByKind(objects, live);
  const namespaces = new Map<string, Json>();
  for (const namespace of kinds.get('v1 Namespace') ?? []) namespaces.set(nameOf(namespace), withLabels(namespace, {}));
  for (const [name, labels] of namespaceLabels) {
    const known = namespaces.get(name) ?? { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
    namespaces.set(name, withLabels(known, labels));
  }
  const schemas = schemasOf(objects);
  return {
    now,
    schema: ({ group, version, kind }) =>
      schemaOf(group === '' ? version : `${group}/${version}`, kind, schemas) as Schema,
    namespace: (name) => namespaces.get(name),
    find(query) {
      const kind = `${query.apiVersion} ${query.kind}`;
      const found = kinds.get(kind)?.filter((object) => answers(object, query)) ?? [];
      if (found.length > 0 || live.has(kind)) return found;
      // Files contain only a part of a cluster: an object that is not among them may still exist.
      return query.name === undefined && kinds.has(kind) ? [] : undefined;
    },
  };
}

function indexByKind(objects: readonly Json[], live: ReadonlyMap<string, readonly Json[]>): Map<string, Json[]> {
  const kinds = new Map<string, Map<string, Json>>();
  const take = (object: Json) => {
    const kind = `${String(object.apiVersion)} ${String(object.kind)}`;
    const known = kinds.get(kind) ?? new Map<string, Json>();
    known.set(`${namespaceOf(object) ?? ''}/${nameOf(object)}`, object);
    kinds.set(kind, known);
  };
  for (const [kind, found] of live) {
    kinds.set(kind, new Map());
    found.forEach(take);
  }
  // Files take precedence over the cluster: they are the desired state.
  objects.forEach(take);
  return new Map(
    [...kinds].map(([kind, found]) => [
      kind,
      [...found].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, object]) => object),
    ]),
  );
}

function answers(object: Json, { name, namespace, selector }: ObjectQuery): boolean {
  return (
    (name === undefined || nameOf(object) === name) &&
    (namespace === undefined || namespaceOf(object) === namespace) &&
    (selector === undefined || selects(selector, labelsOf(object)))
  );
}

/** `withLabels` adds labels to a Namespace, and its name as a label, as the API server does. */
function withLabels(namespace: Json, labels: Readonly<Record<string, string>>): Json {
  const own = { 'kubernetes.io/metadata.name': nameOf(namespace) };
  return {
    ...namespace,
    metadata: { ...(namespace.metadata as object), labels: { ...labelsOf(namespace), ...labels, ...own } },
  };
}

const metadataOf = (object: Json): { name?: unknown; namespace?: unknown } =>
  (object.metadata ?? {}) as { name?: unknown; namespace?: unknown };
const nameOf = (object: Json): string => String(metadataOf(object).name ?? '');
const namespaceOf = (object: Json): string | undefined => {
  const { namespace } = metadataOf(object);
  return typeof namespace === 'string' && namespace !== '' ? namespace : undefined;
};
