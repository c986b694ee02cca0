/**
 * What a pair of the corpus is: two definitions that differ in one thing, objects that were valid before, and what Kubernetes makes of
 * them. The expectations were written down from how Kubernetes behaves and are held against a real API server by `oracle.test.ts`, so
 * that they say nothing about our own code.
 */
import type { ChangeClass, ChangeKind, CrdSchema, Json } from '../../../../src/crd-compat/index.ts';

export interface Expectation {
  /** The kinds that the verdict must name: several if the change can be reported in either way, none if it need not be reported. */
  readonly kind: ChangeKind | readonly ChangeKind[];
  /** More than one where it can be argued; the reason says how. */
  readonly stored: ChangeClass | readonly ChangeClass[];
  readonly manifests: ChangeClass | readonly ChangeClass[];
  /** What Kubernetes does. */
  readonly reason: string;
}

export interface Pair extends Expectation {
  readonly name: string;
  readonly before: Json;
  readonly after: Json;
  /** Valid before the change, with their apiVersion, kind and name. For a breaking change at least one is hit by it. */
  readonly objects: readonly Json[];
  /** Content that the objects are updated to, in the same order: accepted before the change. */
  readonly updates?: readonly (Json | undefined)[];
  /** Whether the objects are valid only after the change: a new field must be kept, too. */
  readonly later?: boolean;
  /** What else is asked of the API server before and after, such as a subresource: it answers before. */
  readonly requests?: readonly string[];
  /**
   * Left out where the API server can make the change. `refused`: it denies it itself, so that it can only be had by deleting the
   * definition with all its objects. `not-tried`: it cannot be set up on a server of today; the reason says why.
   */
  readonly server?: 'refused' | 'not-tried';
}

export const classesOf = (expected: ChangeClass | readonly ChangeClass[]): readonly ChangeClass[] =>
  typeof expected === 'string' ? [expected] : expected;

/** A change of the schema of one field, the subject, wherever it stands. */
export interface SchemaRow {
  readonly name: string;
  readonly before: CrdSchema;
  readonly after: CrdSchema;
  readonly forth: SchemaExpectation;
  /** The change the other way round. */
  readonly back: SchemaExpectation;
}

export interface SchemaExpectation extends Expectation {
  /** Values of the subject that are valid before. A `note` in them is what an update that has nothing to do with the change edits. */
  readonly values: readonly unknown[];
  /** Of the change, below the subject: `.size`, or empty for the subject itself. */
  readonly at?: string;
}

/** Where the subject stands. */
export interface Place {
  readonly name: string;
  /** As a verdict writes it. */
  readonly path: string;
  schema(subject: CrdSchema): CrdSchema;
  object(value: unknown): Json;
}

const note: CrdSchema = { type: 'string' };

const nested = (depth: number): Place => {
  const names = Array.from({ length: depth - 1 }, (_, index) => (index === 0 ? 'spec' : `level${index + 1}`));
  return {
    name: depth === 2 ? 'nested' : `at depth ${depth}`,
    path: `.${[...names, 'subject'].join('.')}`,
    schema: (subject) => {
      const inner: CrdSchema = { type: 'object', properties: { note, subject } };
      return names.reduceRight<CrdSchema>(
        (schema, name) => ({ type: 'object', properties: { note, [name]: schema } }),
        inner,
      );
    },
    object: (value) =>
      names.reduceRight<Json>((object, name) => ({ note: 'as it was', [name]: object }), {
        note: 'as it was',
        subject: value,
      }),
  };
};

const inSpec = (name: string, schema: CrdSchema): CrdSchema => ({
  type: 'object',
  properties: { spec: { type: 'object', properties: { note, [name]: schema } } },
});

const specWith = (name: string, value: unknown): Json => ({ spec: { note: 'as it was', [name]: value } });

/** The first is where the corpus has its pairs; the table of `corpus.test.ts` tries them all. */
export const places: readonly Place[] = [
  nested(2),
  {
    name: 'at the root',
    path: '.subject',
    schema: (subject) => ({ type: 'object', properties: { note, subject } }),
    object: (value) => ({ note: 'as it was', subject: value }),
  },
  {
    name: 'as an item of a list',
    path: '.spec.list[]',
    schema: (subject) => inSpec('list', { type: 'array', items: subject }),
    object: (value) => specWith('list', [value]),
  },
  {
    name: 'in the items of a list',
    path: '.spec.list[].subject',
    schema: (subject) => inSpec('list', { type: 'array', items: { type: 'object', properties: { note, subject } } }),
    object: (value) => specWith('list', [{ note: 'as it was', subject: value }]),
  },
  {
    name: 'in the items of a list with keys',
    path: '.spec.entries[].subject',
    schema: (subject) =>
      inSpec('entries', {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, note, subject } },
      }),
    object: (value) => specWith('entries', [{ name: 'one', note: 'as it was', subject: value }]),
  },
  {
    name: 'as a value of a map',
    path: '.spec.map.*',
    schema: (subject) => inSpec('map', { type: 'object', additionalProperties: subject }),
    object: (value) => specWith('map', { key: value }),
  },
  {
    name: 'in additionalProperties',
    path: '.spec.map.*.subject',
    schema: (subject) =>
      inSpec('map', {
        type: 'object',
        additionalProperties: { type: 'object', properties: { note, subject } },
      }),
    object: (value) => specWith('map', { key: { note: 'as it was', subject: value } }),
  },
  nested(8),
];

export const group = 'corpus.example.com';

/** A definition with one version and the schema given; `edit` makes the rest of it other than usual. */
export function definition(schema: CrdSchema, edit: (spec: DefinitionSpec) => unknown = () => undefined): Json {
  const spec: DefinitionSpec = {
    group,
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  };
  edit(spec);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${spec.names.plural}.${spec.group}` },
    spec,
  };
}

export interface DefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema: { openAPIV3Schema: CrdSchema };
  subresources?: Json;
  selectableFields?: readonly Json[];
  additionalPrinterColumns?: readonly Json[];
}

export interface DefinitionSpec {
  group: string;
  scope: string;
  preserveUnknownFields?: boolean;
  names: {
    plural: string;
    singular: string;
    kind: string;
    listKind: string;
    shortNames?: readonly string[];
    categories?: readonly string[];
  };
  conversion?: Json;
  versions: DefinitionVersion[];
}

export const widget = (content: Json, name: string, version = 'v1'): Json => ({
  apiVersion: `${group}/${version}`,
  kind: 'Widget',
  metadata: { name },
  ...content,
});

/** Both directions of a row, with the subject in a place. */
export function pairsOf(row: SchemaRow, place: Place): Pair[] {
  const directions = [
    { name: row.name, expected: row.forth, before: row.before, after: row.after },
    { name: `${row.name}, reverted`, expected: row.back, before: row.after, after: row.before },
  ];
  return directions.map(({ name, expected, before, after }) => ({
    ...expected,
    name: `${name}, ${place.name}`,
    before: definition(place.schema(before)),
    after: definition(place.schema(after)),
    objects: expected.values.map((value, index) => widget(place.object(value), `object-${index}`)),
  }));
}
