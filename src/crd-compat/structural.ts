/**
 * Whether a schema is structural, as the API server asks of apiextensions.k8s.io/v1. Only then is it known which fields are pruned and
 * what each value must be, so a comparison takes nothing else.
 */
import { keywordIssues } from './keywords.ts';
import type { CrdIssue } from './read.ts';

const MAX_SCHEMA_LEVELS = 100;

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const forbidden = ['$schema', 'id', 'definitions', 'dependencies', 'patternProperties', 'additionalItems'];
const forbiddenNested = [
  'type',
  'default',
  'title',
  'description',
  'nullable',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
];
const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const junctors = ['allOf', 'anyOf', 'oneOf'] as const;

export function* structuralIssues(root: unknown, path: string): Generator<CrdIssue> {
  yield* node(root, path, 'root', 0);
}

type Level = 'root' | 'field' | 'item';

const issue = (code: CrdIssue['code'], path: string, message: string, next: string): CrdIssue => ({
  code,
  path,
  message,
  next,
});

function* node(schema: unknown, path: string, level: Level, depth: number): Generator<CrdIssue> {
  if (!isMembers(schema)) {
    return yield issue('wrong-type', path, `The schema at ${path} is not an object.`, 'Write a schema there.');
  }
  if (depth > MAX_SCHEMA_LEVELS) return yield tooDeep(path);
  const refers = reference(schema, path);
  if (refers !== undefined) return yield refers;
  const wrong = keywordIssues(schema, path);
  if (wrong.length > 0) return yield* wrong;
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const mixed = schema['x-kubernetes-int-or-string'] === true;
  const type = schema.type;
  if (level === 'root' && type !== 'object') {
    yield issue(
      'not-structural',
      `${path}.type`,
      'The type at the root of a schema must be object.',
      'Set type: object.',
    );
  } else if ((type === undefined || type === '') && !open && !mixed) {
    yield issue(
      'not-structural',
      `${path}.type`,
      `The schema at ${path} has no type.`,
      'Give its type, or x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields.',
    );
  } else if (type !== undefined && type !== '' && !types.includes(type as string)) {
    yield issue(
      'not-structural',
      `${path}.type`,
      `${JSON.stringify(type)} is no type of a schema.`,
      `Use one of ${types.join(', ')}.`,
    );
  }
  if (mixed && type !== undefined && type !== '') {
    yield issue(
      'not-structural',
      `${path}.type`,
      'A field that is x-kubernetes-int-or-string must have no type.',
      'Leave the type out.',
    );
  }
  yield* outlawed(schema, path, forbidden);
  if (schema.uniqueItems === true) {
    yield issue(
      'not-structural',
      `${path}.uniqueItems`,
      'uniqueItems: true is not allowed.',
      'Use x-kubernetes-list-type: set.',
    );
  }
  yield* children(schema, path, level, depth);
  for (const nested of nestedIn(schema, path))
    yield* value(nested.schema, nested.path, schema, depth + 1, nested.mixed && mixed);
}

const tooDeep = (path: string): CrdIssue =>
  issue(
    'too-deep',
    path.length > 200 ? `${path.slice(0, 200)}…` : path,
    `The schema is nested more than ${MAX_SCHEMA_LEVELS} levels deep.`,
    'Flatten it, or keep the deep part as x-kubernetes-preserve-unknown-fields.',
  );

function reference(schema: Members, path: string): CrdIssue | undefined {
  if (schema.$ref === undefined) return undefined;
  return issue(
    'reference',
    `${path}.$ref`,
    `${path} refers to ${JSON.stringify(schema.$ref)}; a CustomResourceDefinition may not use $ref.`,
    'Write out what it refers to; for a recursive type keep the field as x-kubernetes-preserve-unknown-fields.',
  );
}

function* outlawed(schema: Members, path: string, names: readonly string[]): Generator<CrdIssue> {
  for (const name of names) {
    const found = schema[name];
    if (found === undefined || found === false || found === '') continue;
    yield issue(
      'not-structural',
      `${path}.${name}`,
      `${name} is not allowed here in a structural schema.`,
      `Take ${name} away, or move it out of allOf, anyOf, oneOf and not.`,
    );
  }
}

function* children(schema: Members, path: string, level: Level, depth: number): Generator<CrdIssue> {
  const { properties, additionalProperties, items } = schema;
  if (properties !== undefined && !isMembers(properties)) {
    yield issue('wrong-type', `${path}.properties`, 'properties is not an object.', 'Write the fields by name.');
  } else if (properties !== undefined) {
    for (const name of Object.keys(properties))
      yield* node(properties[name], `${path}.properties.${name}`, 'field', depth + 1);
  }
  if (additionalProperties !== undefined) {
    const where = `${path}.additionalProperties`;
    if (level === 'root')
      yield issue(
        'not-structural',
        where,
        'additionalProperties is not allowed at the root.',
        'Move the map into a field.',
      );
    if (additionalProperties === false) {
      yield issue(
        'not-structural',
        where,
        'additionalProperties: false is not allowed.',
        'Leave it out: fields that are not named are pruned.',
      );
    } else if (isMembers(properties) && Object.keys(properties).length > 0) {
      yield issue(
        'not-structural',
        where,
        'properties and additionalProperties exclude each other.',
        'Keep one of them.',
      );
    } else if (additionalProperties !== true) yield* node(additionalProperties, where, 'field', depth + 1);
  }
  if (Array.isArray(items))
    yield issue('not-structural', `${path}.items`, 'items must be one schema, not a list.', 'Write one schema.');
  else if (items !== undefined) yield* node(items, `${path}.items`, 'item', depth + 1);
  else if (schema.type === 'array')
    yield issue('not-structural', `${path}.items`, 'An array must say what its items are.', 'Give items.');
}

function nestedIn(schema: Members, path: string): { schema: unknown; path: string; mixed: boolean }[] {
  const found: { schema: unknown; path: string; mixed: boolean }[] = [];
  for (const junctor of junctors) {
    const branches = schema[junctor];
    if (!Array.isArray(branches)) continue;
    for (const [index, branch] of branches.entries()) {
      found.push({
        schema: branch,
        path: `${path}.${junctor}[${index}]`,
        mixed: junctor === 'anyOf' || (junctor === 'allOf' && index === 0),
      });
    }
  }
  if (schema.not !== undefined) found.push({ schema: schema.not, path: `${path}.not`, mixed: false });
  return found;
}

/** Inside allOf, anyOf, oneOf and not: only restrictions of values, of fields that are declared outside. */
function* value(
  schema: unknown,
  path: string,
  outside: Members,
  depth: number,
  mayHaveType: boolean,
): Generator<CrdIssue> {
  if (!isMembers(schema)) {
    return yield issue('wrong-type', path, `The schema at ${path} is not an object.`, 'Write a schema there.');
  }
  if (depth > MAX_SCHEMA_LEVELS) return yield tooDeep(path);
  const refers = reference(schema, path);
  if (refers !== undefined) return yield refers;
  const wrong = keywordIssues(schema, path);
  if (wrong.length > 0) return yield* wrong;
  yield* outlawed(schema, path, mayHaveType ? forbiddenNested.filter((name) => name !== 'type') : forbiddenNested);
  if (isMembers(schema.properties)) {
    for (const name of Object.keys(schema.properties)) {
      const where = `${path}.properties.${name}`;
      const declared = isMembers(outside.properties) ? outside.properties[name] : undefined;
      if (!isMembers(declared)) {
        yield issue(
          'not-structural',
          where,
          `${name} is restricted here but not declared outside.`,
          `Declare ${name} with its type beside it.`,
        );
      } else yield* value(schema.properties[name], where, declared, depth + 1, false);
    }
  }
  if (schema.items !== undefined && isMembers(outside.items))
    yield* value(schema.items, `${path}.items`, outside.items, depth + 1, false);
  for (const nested of nestedIn(schema, path)) {
    yield* value(nested.schema, nested.path, outside, depth + 1, mayHaveType && nested.mixed);
  }
}
