/**
 * The sources of schemas for type checks: CRDs, the platform's own kinds, built-in kinds (kubernetes-schemas.ts), and
 * live API servers (openapi-schemas.ts).
 */
import { GROUP, openApiOf, kinds as platformKinds, VERSION } from '../../api/index.ts';
import type { Schema } from '../../cel/index.ts';
import type { GroupVersionKind, Json } from '../request.ts';
import { kubernetesModel, METADATA } from './kubernetes-models.ts';

export interface SchemaKind extends GroupVersionKind {
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface SchemaSource {
  kinds(): readonly SchemaKind[];
  /** `schema` returns the same object for the same schema, because derived values are cached by it. */
  schema(kind: GroupVersionKind): Schema | undefined;
  /** `resolve` resolves a `$ref` of these schemas. */
  resolve?(reference: string): Schema | undefined;
}

export const kindKey = ({ group, version, kind }: GroupVersionKind): string =>
  `${group === '' ? '' : `${group}/`}${version}/${kind}`;

/** `combineSchemas` combines sources; the first one that knows a kind is used. */
export function combineSchemas(...sources: readonly SchemaSource[]): SchemaSource {
  let known: readonly SchemaKind[] | undefined;
  return {
    kinds: () => {
      known ??= [
        ...new Map(
          sources
            .toReversed()
            .flatMap((source) => source.kinds())
            .map((each) => [kindKey(each), each]),
        ).values(),
      ];
      return known;
    },
    schema: (kind) => firstOf(sources, (source) => source.schema(kind)),
    resolve: (reference) => firstOf(sources, (source) => source.resolve?.(reference)),
  };
}

function firstOf<T, R>(all: readonly T[], ask: (each: T) => R | undefined): R | undefined {
  for (const each of all) {
    const found = ask(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `crdSchemas` returns the served versions of CustomResourceDefinitions; other objects are ignored. */
export function crdSchemas(definitions: readonly Json[]): SchemaSource {
  return fixedSchemas(definitions.flatMap(versionsOf));
}

/**
 * `platformSchemas` returns the kinds of platform.company.com in this version of the platform, for use without a
 * cluster.
 */
export function platformSchemas(): SchemaSource {
  platform ??= fixedSchemas(
    platformKinds.map((kind) => ({
      group: GROUP,
      version: VERSION,
      kind: kind.kind,
      plural: kind.plural,
      namespaced: kind.scope === 'Namespaced',
      schema: withMetadata(openApiOf(kind) as Schema),
    })),
  );
  return platform;
}

/** A cache of a constant. */
let platform: SchemaSource | undefined;

type KindWithSchema = SchemaKind & { readonly schema: Schema };

function fixedSchemas(known: readonly KindWithSchema[]): SchemaSource {
  const byKey = new Map(known.map((each) => [kindKey(each), each.schema]));
  const kinds = known.map(({ schema: _, ...kind }) => kind);
  return { kinds: () => kinds, schema: (kind) => byKey.get(kindKey(kind)), resolve: kubernetesModel };
}

function versionsOf(definition: Json): readonly KindWithSchema[] {
  const spec = definition.spec as
    | { group?: unknown; scope?: unknown; names?: { kind?: unknown; plural?: unknown }; versions?: unknown }
    | undefined;
  const { group, scope, names, versions } = spec ?? {};
  if (definition.kind !== 'CustomResourceDefinition' || typeof group !== 'string' || !Array.isArray(versions))
    return [];
  const { kind, plural } = names ?? {};
  if (typeof kind !== 'string' || typeof plural !== 'string') return [];
  return versions.flatMap(
    (each: { name?: unknown; served?: unknown; schema?: { openAPIV3Schema?: Schema } } | null) => {
      if (typeof each?.name !== 'string' || each.served === false) return [];
      const schema = withMetadata(each.schema?.openAPIV3Schema ?? ANYTHING);
      return [{ group, version: each.name, kind, plural, namespaced: scope === 'Namespaced', schema }];
    },
  );
}

const ANYTHING: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** Adds the metadata schema of Kubernetes, which a CRD does not contain. */
function withMetadata(schema: Schema): Schema {
  const known = WITH_METADATA.get(schema);
  if (known !== undefined) return known;
  const made = { ...schema, properties: { ...TYPE_META, ...schema.properties, metadata: METADATA } };
  WITH_METADATA.set(schema, made);
  return made;
}

const TYPE_META = { apiVersion: { type: 'string' }, kind: { type: 'string' } };
const WITH_METADATA = new WeakMap<Schema, Schema>();
