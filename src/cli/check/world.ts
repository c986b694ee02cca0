/** What a decision may look at besides the object: what is among the files, on the command line and, where there is one, in the cluster. */
import type { Schema } from '../../cel/index.ts';
import type { Json, ObjectQuery, World } from '../../policy/index.ts';
import { labelsOf, selects } from '../../policy/internal.ts';
import { schemaOf, schemasOf } from './defaults.ts';

interface WorldInput {
  readonly now: number;
  /** Everything that was read, to be judged or only to be looked at. */
  readonly objects: readonly Json[];
  readonly namespaceLabels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  /** Objects of a cluster, by `apiVersion kind`: for these kinds nothing is unknown. */
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
      // Files hold a part of what a cluster has: that something is not among them does not mean that it is not there.
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
  // What is in the files is what shall be.
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

/** The API server labels every Namespace with its name. */
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
