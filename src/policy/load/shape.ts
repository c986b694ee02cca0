/**
 * Validates a value against a schema of the platform. Offline, no API server validates objects first, so any user input
 * gets here: every wrong type, unknown field and exceeded bound is one issue.
 */
import type { OpenApiSchema } from '../../api/index.ts';
import { type Compiled, compile, environment, types } from '../../cel/index.ts';
import { nearest } from '../../cel/internal.ts';

interface Complaint {
  readonly code: 'wrong_type' | 'unknown_field' | 'missing_field' | 'not_allowed' | 'duplicate' | 'rule';
  readonly path: string;
  readonly message: string;
}

/** `complaints` lists all problems of `value` in source order; null counts as absent, as for the API server. */
export function complaints(schema: OpenApiSchema, value: unknown, path: string): readonly Complaint[] {
  const found: Complaint[] = [];
  inspect(schema, value, path, found);
  return found;
}

/** Returns `spec.rules[0].name`, with quotes around keys that are not identifiers. */
function childPath(path: string, name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

/** `about` describes the purpose of the value; for an entry, that is the description of the list. */
function inspect(
  schema: OpenApiSchema,
  value: unknown,
  path: string,
  found: Complaint[],
  about = schema.description ?? '',
): void {
  const before = found.length;
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (!Number.isSafeInteger(value) && typeof value !== 'string')
      wrongType('an integer or a string', value, path, found);
  } else {
    switch (schema.type) {
      case 'object':
        inspectObject(schema, value, path, found);
        break;
      case 'array':
        inspectList(schema, value, path, found);
        break;
      case 'string':
        inspectText(schema, value, path, found, about);
        break;
      case 'integer':
        inspectInteger(schema, value, path, found);
        break;
      case 'boolean':
        if (typeof value !== 'boolean') wrongType('a boolean', value, path, found);
        break;
    }
  }
  // The rules of a schema assume a valid shape.
  if (found.length === before) inspectRules(schema, value, path, found);
}

function inspectObject(schema: OpenApiSchema, value: unknown, path: string, found: Complaint[]): void {
  if (!isObject(value)) {
    wrongType('an object', value, path, found);
    return;
  }
  const { properties, additionalProperties, required = [] } = schema;
  const names = Object.keys(value).filter((name) => value[name] !== null && value[name] !== undefined);
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) {
    found.push({
      code: 'not_allowed',
      path,
      message: `has ${names.length} entries, want at most ${schema.maxProperties}`,
    });
  }
  for (const name of required) {
    if (names.includes(name)) continue;
    found.push({ code: 'missing_field', path: childPath(path, name), message: 'is required' });
  }
  for (const name of names) {
    const child = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (child !== undefined) inspect(child, value[name], childPath(path, name), found);
    else if (properties !== undefined) unknownField(name, Object.keys(properties), path, found);
  }
}

function unknownField(name: string, known: readonly string[], path: string, found: Complaint[]): void {
  const near = nearest(name, known);
  const hint = near === undefined ? `known are ${known.join(', ')}` : `did you mean ${near}?`;
  found.push({ code: 'unknown_field', path: childPath(path, name), message: `is not a known field: ${hint}` });
}

function inspectList(schema: OpenApiSchema, value: unknown, path: string, found: Complaint[]): void {
  if (!Array.isArray(value)) {
    wrongType('a list', value, path, found);
    return;
  }
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, items } = schema;
  if (value.length < minItems || value.length > maxItems) {
    const wanted = value.length < minItems ? `at least ${minItems}` : `at most ${maxItems}`;
    found.push({ code: 'not_allowed', path, message: `has ${value.length} entries, want ${wanted}` });
  }
  const seen = new Set<string>();
  for (let index = 0; index < value.length; index++) {
    const element: unknown = value[index];
    if (items !== undefined) inspect(items, element, `${path}[${index}]`, found, schema.description);
    const key = identity(schema, element);
    if (key === undefined) continue;
    if (seen.has(key)) {
      found.push({ code: 'duplicate', path: `${path}[${index}]`, message: `is a duplicate: ${key}` });
    }
    seen.add(key);
  }
}

/** Returns the identity of an entry of a set or of a list with keys. */
function identity(schema: OpenApiSchema, element: unknown): string | undefined {
  const kind = schema['x-kubernetes-list-type'];
  if (kind === 'set') return typeof element === 'string' || typeof element === 'number' ? String(element) : undefined;
  if (kind !== 'map' || !isObject(element)) return undefined;
  return (schema['x-kubernetes-list-map-keys'] ?? []).map((key) => `${key} ${String(element[key])}`).join(', ');
}

/** A cache of compiled patterns; our schemas have few. */
const PATTERNS = new Map<string, RegExp>();

function patternOf(text: string): RegExp {
  let pattern = PATTERNS.get(text);
  if (pattern === undefined) {
    pattern = new RegExp(text, 'u');
    PATTERNS.set(text, pattern);
  }
  return pattern;
}

/** The description of the field is part of the message, because a pattern alone does not help. */
function inspectText(schema: OpenApiSchema, value: unknown, path: string, found: Complaint[], about: string): void {
  if (typeof value !== 'string') {
    wrongType('a string', value, path, found);
    return;
  }
  const complain = (message: string): void => void found.push({ code: 'not_allowed', path, message });
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    const near = nearest(value, schema.enum);
    const hint = near === undefined ? '' : `, did you mean ${near}?`;
    complain(`must be one of ${schema.enum.join(', ')}, got ${quote(value)}${hint}`);
    return;
  }
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = schema;
  // Code points are counted only if necessary: there are at most as many as UTF-16 units, and at least half as many.
  const length = value.length > maxLength || value.length < 2 * minLength ? [...value].length : value.length;
  if (length < minLength) complain('must not be empty');
  else if (length > maxLength) complain(`must have at most ${schema.maxLength} characters`);
  else if (schema.pattern !== undefined && !patternOf(schema.pattern).test(value)) {
    complain(`${quote(value)} does not match the pattern ${schema.pattern}: ${about}`);
  }
}

function inspectInteger(schema: OpenApiSchema, value: unknown, path: string, found: Complaint[]): void {
  if (!Number.isSafeInteger(value)) {
    wrongType('an integer', value, path, found);
    return;
  }
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  if ((value as number) < minimum || (value as number) > maximum) {
    found.push({ code: 'not_allowed', path, message: `must be between ${minimum} and ${maximum}, got ${value}` });
  }
}

/** Evaluates the CEL rules of the schema, like the API server does. */
function inspectRules(schema: OpenApiSchema, value: unknown, path: string, found: Complaint[]): void {
  for (const { rule, message, fieldPath } of schema['x-kubernetes-validations'] ?? []) {
    if (rule.includes('oldSelf')) continue;
    const self = withoutNulls(value);
    if (compiledRule(rule).evaluate({ self: self as never }) === true) continue;
    found.push({ code: 'rule', path: `${path}${fieldPath ?? ''}`, message });
  }
}

const RULES = new Map<string, Compiled>();

function compiledRule(rule: string): Compiled {
  let compiled = RULES.get(rule);
  if (compiled === undefined) {
    const made = compile(rule, environment('kubernetes-1.36', { variables: { self: types.DYN } }));
    if (made.evaluate === undefined) throw new Error(`a rule of our own schema does not compile: ${made.message}`);
    compiled = made;
    RULES.set(rule, compiled);
  }
  return compiled;
}

function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== null && each !== undefined));
}

function wrongType(wanted: string, value: unknown, path: string, found: Complaint[]): void {
  found.push({ code: 'wrong_type', path, message: `must be ${wanted}, got ${describe(value)}` });
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return 'empty';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  return typeof value === 'string' ? `the string ${quote(value)}` : quote(String(value));
}

const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
