/** Converts the OpenAPI documents of an API server to the merge table of src/policy/mutation. */

interface OpenApiSchema {
  readonly type?: string;
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: boolean | OpenApiSchema;
  readonly items?: OpenApiSchema;
  readonly 'x-kubernetes-group-version-kind'?: readonly { group: string; version: string; kind: string }[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
}

export interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, OpenApiSchema>> };
}

/** Types that differ from their schema: strings, or any value. */
const SPECIAL: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': '-',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': '-',
  'io.k8s.apimachinery.pkg.runtime.RawExtension': '*',
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': '*',
};

/** Returns one line per storable kind, and one per type that its objects contain. */
export function mergeTypes(documents: readonly OpenApi[]): string {
  const schemas = new Map(documents.flatMap(({ components }) => Object.entries(components.schemas)));
  const kinds: string[] = [];
  const wanted = new Set<string>();
  const want = (name: string): void => {
    if (wanted.has(name)) return;
    wanted.add(name);
    for (const each of references(schemas.get(name) ?? {})) want(each);
  };
  for (const [name, schema] of schemas) {
    const { metadata } = schema.properties ?? {};
    if (metadata === undefined || referenceOf(metadata)?.endsWith('.ObjectMeta') !== true) continue;
    for (const { group, version, kind } of schema['x-kubernetes-group-version-kind'] ?? []) {
      kinds.push(`@${group}/${version}/${kind} ${shortName(name)}`);
      want(name);
    }
  }
  const lines = [...wanted].map((name) => {
    const line = SPECIAL[name] ?? typeLine(schemas.get(name) ?? {}, schemas);
    return line === '' ? shortName(name) : `${shortName(name)} ${line}`;
  });
  return [...kinds.sort(), ...lines.sort()].join('\n');
}

function typeLine(schema: OpenApiSchema, schemas: ReadonlyMap<string, OpenApiSchema>): string {
  const special = specialOf(schema);
  if (special !== undefined) return special;
  const atomic = schema['x-kubernetes-map-type'] === 'atomic' ? ['!'] : [];
  const fields = Object.entries(schema.properties ?? {}).map(([name, each]) => `${name}${suffix(each, schemas)}`);
  return [...atomic, ...fields.sort()].join(' ');
}

/** Returns the suffix of a type without fields: a plain value, or any value. */
function specialOf({ type, properties }: OpenApiSchema): string | undefined {
  if (type !== undefined && type !== 'object') return '-';
  return properties === undefined ? '*' : undefined;
}

function suffix(schema: OpenApiSchema, schemas: ReadonlyMap<string, OpenApiSchema>): string {
  const reference = referenceOf(schema);
  const atomic = schema['x-kubernetes-map-type'] === 'atomic';
  if (reference !== undefined) {
    const special = SPECIAL[reference] ?? specialOf(schemas.get(reference) ?? {});
    if (special === '-') return '';
    if (special === '*') return '*';
    return `${atomic ? '!' : ''}:${shortName(reference)}`;
  }
  if (schema.type === 'array') return `${listMark(schema, schemas)}${suffix(schema.items ?? {}, schemas)}`;
  if (schema.type === 'object') {
    const { additionalProperties } = schema;
    const element = typeof additionalProperties === 'object' ? suffix(additionalProperties, schemas) : '*';
    return `{${atomic ? '!' : ''}}${element}`;
  }
  return schema.type === undefined ? '*' : '';
}

function listMark(schema: OpenApiSchema, schemas: ReadonlyMap<string, OpenApiSchema>): string {
  switch (schema['x-kubernetes-list-type']) {
    case 'set':
      return '[=]';
    case 'map':
      return keysMark(schema, schema['x-kubernetes-list-map-keys'] ?? [], schemas);
    case 'atomic':
      return '[!]';
  }
  // The older marker of kubectl applies if there is no other.
  if (schema['x-kubernetes-patch-strategy']?.startsWith('merge') !== true) return '[!]';
  const key = schema['x-kubernetes-patch-merge-key'];
  return key === undefined ? '[=]' : keysMark(schema, [key], schemas);
}

function keysMark(schema: OpenApiSchema, keys: readonly string[], schemas: ReadonlyMap<string, OpenApiSchema>): string {
  const element = schemas.get(referenceOf(schema.items ?? {}) ?? '') ?? schema.items;
  const marked = keys.map((key) => {
    const byDefault = element?.properties?.[key]?.default;
    return byDefault === undefined ? key : `${key}=${JSON.stringify(byDefault)}`;
  });
  return `[${marked.join(',')}]`;
}

function references(schema: OpenApiSchema): readonly string[] {
  const own = referenceOf(schema);
  const { additionalProperties } = schema;
  const inside = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ];
  return [...(own === undefined ? [] : [own]), ...inside.flatMap(references)];
}

const referenceOf = (schema: OpenApiSchema): string | undefined =>
  (schema.$ref ?? schema.allOf?.[0]?.$ref)?.replace('#/components/schemas/', '');

/** Shortens `io.k8s.api.apps.v1.Deployment` to `apps.v1.Deployment`. */
const shortName = (name: string): string => name.split('.').slice(-3).join('.');
