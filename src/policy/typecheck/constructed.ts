/** The types of `Object.spec.template{…}`: the fields that an ApplyConfiguration may set on a resource type. */
import { type ObjectType, type SchemaTypes, type TypeProvider, types } from '../../cel/index.ts';

/**
 * `constructedTypes` provides `Object` and its nested types from the schema; other providers handle undeclared fields.
 */
export function constructedTypes({ root }: SchemaTypes): TypeProvider {
  return (name) => {
    const [first, ...path] = name.split('.');
    if (first !== 'Object') return undefined;
    let node: SchemaTypes['root'] | undefined = root;
    for (const step of path) node = elementsOf(node?.field(step));
    if (node === undefined) return { name, constructible: false, field: () => undefined, fieldNames: () => [] };
    const { properties } = node.schema;
    return properties === undefined ? undefined : constructed(name, node);
  };
}

/** A list element has the type name of the list. */
function elementsOf(node: SchemaTypes['root'] | undefined): SchemaTypes['root'] | undefined {
  return node?.schema.type === 'array' ? node.element : node;
}

function constructed(name: string, node: SchemaTypes['root']): ObjectType {
  const open = node.schema['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    name,
    constructible: true,
    field: (field) => {
      const of = node.field(field);
      if (of === undefined) return open ? types.DYN : undefined;
      // Nested objects are checked where they are constructed.
      return SIMPLE.has(of.schema.type ?? '') ? of.type : types.DYN;
    },
    fieldNames: () => Object.keys(node.schema.properties ?? {}),
  };
}

const SIMPLE: ReadonlySet<string> = new Set(['string', 'integer', 'boolean']);
