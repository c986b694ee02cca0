/**
 * Checks that a schema is structural, which the API server requires in apiextensions.k8s.io/v1. Only a structural
 * schema determines which fields are pruned and what each value must be, so the comparison accepts nothing else.
 */
import { isObject } from './json.ts';
import { hasUsualKeywords, keywordIssues } from './keywords.ts';
import type { CrdIssue } from './read.ts';

const MAX_SCHEMA_LEVELS = 100;

type Members = Readonly<Record<string, unknown>>;

const forbidden = new Set(['$schema', 'id', 'definitions', 'dependencies', 'patternProperties', 'additionalItems']);
const forbiddenNested = new Set([
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
]);
const forbiddenNestedButType = new Set([...forbiddenNested].filter((name) => name !== 'type'));
const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const junctors = ['allOf', 'anyOf', 'oneOf'] as const;

/** The largest number of issues that are reported: one mistake often repeats thousands of times. */
export const MAX_ISSUES = 50;

export function structuralIssues(root: unknown, path: string): readonly CrdIssue[] {
  const found: CrdIssue[] = [];
  // Nearly all schemas are correct: paths are built only in a second pass, for a schema with an issue.
  for (const at of [UNPLACED, path]) {
    found.length = 0;
    node(root, at, 'root', 0, found);
    if (found.length === 0) return found;
  }
  return found.slice(0, MAX_ISSUES);
}

type Level = 'root' | 'field' | 'item';

/** The placeholder for a path in the first pass, where no path is read. */
const UNPLACED = '';

const below = (path: string, keyword: string, name: string | number = ''): string =>
  path === UNPLACED ? UNPLACED : `${path}.${keyword}${name}`;

function add(found: CrdIssue[], code: CrdIssue['code'], path: string, message: string, next: string): void {
  found.push({ code, path, message, next });
}

function node(schema: unknown, path: string, level: Level, depth: number, found: CrdIssue[]): void {
  if (found.length >= MAX_ISSUES) return;
  const isUsual = depth <= MAX_SCHEMA_LEVELS && isObject(schema) && hasUsualKeywords(schema);
  if (!isUsual && !isReadable(schema, path, depth, found)) return;
  const open = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const mixed = schema['x-kubernetes-int-or-string'] === true;
  const type = schema.type;
  if (level === 'root' && type !== 'object') {
    add(
      found,
      'not-structural',
      `${path}.type`,
      'The type at the root of a schema must be object.',
      'Set type: object.',
    );
  } else if ((type === undefined || type === '') && !open && !mixed) {
    add(
      found,
      'not-structural',
      `${path}.type`,
      `The schema at ${path} has no type.`,
      'Set its type, or x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields.',
    );
  } else if (type !== undefined && type !== '' && !types.includes(type as string)) {
    add(
      found,
      'not-structural',
      `${path}.type`,
      `${JSON.stringify(type)} is not a schema type.`,
      `Use one of ${types.join(', ')}.`,
    );
  }
  if (mixed && type !== undefined && type !== '') {
    add(
      found,
      'not-structural',
      `${path}.type`,
      'A field with x-kubernetes-int-or-string must not have a type.',
      'Remove the type.',
    );
  }
  if (!isUsual) outlawed(schema, path, forbidden, found);
  if (!isUsual && schema.uniqueItems === true) {
    add(
      found,
      'not-structural',
      `${path}.uniqueItems`,
      'uniqueItems: true is not allowed.',
      'Use x-kubernetes-list-type: set.',
    );
  }
  children(schema, path, level, depth, found);
  if (isUsual) return;
  for (const nested of nestedIn(schema, path))
    value(nested.schema, nested.path, schema, depth + 1, nested.mixed && mixed, found);
}

/** Whether the content of a schema can be checked. */
function isReadable(schema: unknown, path: string, depth: number, found: CrdIssue[]): schema is Members {
  if (!isObject(schema)) {
    add(found, 'wrong-type', path, `The schema at ${path} is not an object.`, 'Write a schema there.');
    return false;
  }
  const wrong = depth > MAX_SCHEMA_LEVELS ? [tooDeep(path)] : (reference(schema, path) ?? keywordIssues(schema, path));
  if (wrong.length > 0) found.push(...wrong);
  return wrong.length === 0;
}

const tooDeep = (path: string): CrdIssue => ({
  code: 'too-deep',
  path: path.length > 200 ? `${path.slice(0, 200)}…` : path,
  message: `The schema is nested more than ${MAX_SCHEMA_LEVELS} levels deep.`,
  next: 'Flatten it, or keep the deep part as x-kubernetes-preserve-unknown-fields.',
});

function reference(schema: Members, path: string): readonly CrdIssue[] | undefined {
  if (schema.$ref === undefined) return undefined;
  return [
    {
      code: 'reference',
      path: `${path}.$ref`,
      message: `${path} refers to ${JSON.stringify(schema.$ref)}; a CustomResourceDefinition must not use $ref.`,
      next: 'Write out what it refers to; for a recursive type keep the field as x-kubernetes-preserve-unknown-fields.',
    },
  ];
}

function outlawed(schema: Members, path: string, names: ReadonlySet<string>, found: CrdIssue[]): void {
  for (const name in schema) {
    if (!names.has(name)) continue;
    const said = schema[name];
    if (said === undefined || said === false || said === '') continue;
    add(
      found,
      'not-structural',
      `${path}.${name}`,
      `${name} is not allowed here in a structural schema.`,
      `Remove ${name}, or move it out of allOf, anyOf, oneOf and not.`,
    );
  }
}

function children(schema: Members, path: string, level: Level, depth: number, found: CrdIssue[]): void {
  const { properties, additionalProperties, items } = schema;
  if (properties !== undefined && !isObject(properties)) {
    add(found, 'wrong-type', `${path}.properties`, 'properties is not an object.', 'Write the fields by name.');
  } else if (properties !== undefined) {
    for (const name of Object.keys(properties))
      node(properties[name], below(path, 'properties.', name), 'field', depth + 1, found);
  }
  if (additionalProperties !== undefined) {
    const where = below(path, 'additionalProperties');
    if (level === 'root')
      add(
        found,
        'not-structural',
        where,
        'additionalProperties is not allowed at the root.',
        'Move the map into a field.',
      );
    if (additionalProperties === false) {
      add(
        found,
        'not-structural',
        where,
        'additionalProperties: false is not allowed.',
        'Remove it: fields that the schema does not name are pruned anyway.',
      );
    } else if (isObject(properties) && Object.keys(properties).length > 0) {
      add(
        found,
        'not-structural',
        where,
        'properties and additionalProperties exclude each other.',
        'Keep one of them.',
      );
    } else if (additionalProperties !== true) node(additionalProperties, where, 'field', depth + 1, found);
  }
  if (Array.isArray(items))
    add(found, 'not-structural', `${path}.items`, 'items must be one schema, not a list.', 'Write one schema.');
  else if (items !== undefined) node(items, below(path, 'items'), 'item', depth + 1, found);
  else if (schema.type === 'array')
    add(found, 'not-structural', `${path}.items`, 'An array must have items.', 'Set items to one schema.');
}

function nestedIn(schema: Members, path: string): { schema: unknown; path: string; mixed: boolean }[] {
  const found: { schema: unknown; path: string; mixed: boolean }[] = [];
  for (const junctor of junctors) {
    const branches = schema[junctor];
    if (!Array.isArray(branches)) continue;
    for (const [index, branch] of branches.entries()) {
      found.push({
        schema: branch,
        path: below(path, junctor, `[${index}]`),
        mixed: junctor === 'anyOf' || (junctor === 'allOf' && index === 0),
      });
    }
  }
  if (schema.not !== undefined) found.push({ schema: schema.not, path: below(path, 'not'), mixed: false });
  return found;
}

/**
 * Checks a schema inside allOf, anyOf, oneOf or not, which may only restrict the values of fields that are declared
 * outside.
 */
function value(
  schema: unknown,
  path: string,
  outside: Members,
  depth: number,
  mayHaveType: boolean,
  found: CrdIssue[],
): void {
  if (found.length >= MAX_ISSUES || !isReadable(schema, path, depth, found)) return;
  outlawed(schema, path, mayHaveType ? forbiddenNestedButType : forbiddenNested, found);
  if (isObject(schema.properties)) {
    for (const name of Object.keys(schema.properties)) {
      const where = below(path, 'properties.', name);
      const declared = isObject(outside.properties) ? outside.properties[name] : undefined;
      if (!isObject(declared)) {
        add(
          found,
          'not-structural',
          where,
          `${name} is restricted here but not declared outside.`,
          `Declare ${name} with its type beside it.`,
        );
      } else value(schema.properties[name], where, declared, depth + 1, false, found);
    }
  }
  if (schema.items !== undefined && isObject(outside.items))
    value(schema.items, below(path, 'items'), outside.items, depth + 1, false, found);
  for (const nested of nestedIn(schema, path)) {
    value(nested.schema, nested.path, outside, depth + 1, mayHaveType && nested.mixed, found);
  }
}
