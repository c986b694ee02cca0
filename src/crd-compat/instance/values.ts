/** The keywords that constrain a single value: type, enum, length, pattern and format. */

import { same } from '../canonical.ts';
import { expressionOf, PatternError } from '../pattern/index.ts';
import type { CrdSchema } from '../schema.ts';
import { stringFormat } from './formats/index.ts';
import { isInt64, passesForInteger, shown, textLength, toInt64, typeOf } from './json.ts';
import type { Check } from './run.ts';

/** The types that a schema allows: two for int-or-string, none if it has no type. */
function typesOf(schema: CrdSchema): readonly string[] {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined || schema.type === '' ? [] : [schema.type];
}

/** Whether the API server validates the format for the type; if not, it ignores the format. */
function knowsFormat(schema: CrdSchema, types: readonly string[]): boolean {
  const { format } = schema;
  if (format === undefined || format === '') return false;
  const type = types.length === 1 ? types[0] : '';
  if (type === '' || type === 'string') return stringFormat(format) !== undefined;
  if (type === 'integer') return format === 'int32' || format === 'int64';
  return type === 'number' && (format === 'float' || format === 'double');
}

export function typeCheck(schema: CrdSchema): Check | undefined {
  const types = typesOf(schema);
  const hasFormat = knowsFormat(schema, types);
  if (types.length === 0 && !hasFormat) return undefined;
  const nullable = schema.nullable === true || types.length === 0;
  const integer = types.includes('integer');
  const number = types.includes('number');
  // If the schema has a string format, the API server accepts lists as well, because it does not check their type.
  const listPasses = hasFormat && !integer && !number;
  const expected = types.length === 0 ? 'string' : types.join(' or ');
  const only = types.length === 1 ? types[0] : undefined;
  return (value, run) => {
    const type = typeOf(value);
    if (type === only) return;
    if (type === 'null' ? nullable : types.includes(type)) return;
    if (listPasses && (type === 'string' || type === 'array')) return;
    if (type === 'integer' && number) return;
    if (type === 'number' && integer && passesForInteger(Number(value))) return;
    run.fault('type', `${shown(value)} is ${type === 'null' ? 'null' : `of type ${type}`}, not ${expected}`);
  };
}

export function enumCheck({ enum: allowed }: CrdSchema): Check | undefined {
  if (allowed === undefined || allowed.length === 0) return undefined;
  const texts: ReadonlySet<unknown> = new Set(allowed.filter((each) => typeof each === 'string'));
  const list = allowed.map((each) => shown(each)).join(', ');
  return (value, run) => {
    if (texts.has(value) || allowed.some((each) => isEnumValue(value, each))) return;
    run.fault('enum', `${shown(value)} is none of ${list.length > 200 ? `${list.slice(0, 197)}…` : list}`);
  };
}

/**
 * The API server converts the value to the type of the enum value: 1.5 equals 1, and 65 equals "A". Null never matches.
 */
function isEnumValue(value: unknown, allowed: unknown): boolean {
  const type = typeOf(value);
  switch (typeOf(allowed)) {
    case 'null':
      return false;
    case 'integer':
      if (type === 'number') return toInt64(Number(value)) === Number(allowed);
      return type === 'integer' && BigInt(value as number) === BigInt(allowed as number);
    case 'number':
      return (type === 'number' || type === 'integer') && Number(value) === allowed;
    case 'string':
      return value === allowed || (isInt64(value) && characterOf(Number(value)) === allowed);
    default:
      return same(value, allowed);
  }
}

function characterOf(code: number): string {
  const exists = code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return exists ? String.fromCodePoint(code) : '\ufffd';
}

export function textCheck(schema: CrdSchema): Check | undefined {
  const { minLength, maxLength, pattern } = schema;
  const matcher = pattern === undefined || pattern === '' ? undefined : patternMatcher(pattern);
  const format = knowsFormat(schema, typesOf(schema)) ? stringFormat(schema.format) : undefined;
  if (minLength === undefined && maxLength === undefined && matcher === undefined && format === undefined) {
    return undefined;
  }
  return (value, run) => {
    if (typeof value !== 'string') return;
    if (maxLength !== undefined && value.length > maxLength && textLength(value) > maxLength) {
      run.fault('maxLength', `${shown(value)} is longer than ${maxLength}`);
    } else if (minLength !== undefined && (value.length < minLength || textLength(value) < minLength)) {
      run.fault('minLength', `${shown(value)} is shorter than ${minLength}`);
    } else if (matcher !== undefined && !matcher(value)) {
      run.fault('pattern', `${shown(value)} does not match ${pattern}`);
    }
    if (format?.matches(value) === false) run.fault('format', `${shown(value)} is no ${schema.format}`);
  };
}

type Matcher = (text: string) => boolean;

/** A cache: a matcher depends on its pattern only. */
const MATCHERS = new Map<string, Matcher>();
/** Definitions use few patterns, in many places and in each version. */
const MOST_MATCHERS = 200;

function patternMatcher(pattern: string): Matcher {
  const known = MATCHERS.get(pattern);
  if (known !== undefined) return known;
  const made = makeMatcher(pattern);
  if (MATCHERS.size >= MOST_MATCHERS) MATCHERS.clear();
  MATCHERS.set(pattern, made);
  return made;
}

/** A pattern in Go syntax that can match anywhere in the string. A pattern with a syntax error matches nothing. */
function makeMatcher(pattern: string): Matcher {
  let expression: ReturnType<typeof expressionOf> | undefined;
  const known = new Map<string, boolean>();
  return (text) => {
    const answer = known.get(text);
    if (answer !== undefined) return answer;
    expression ??= expressionOf(pattern);
    const matches = !(expression instanceof PatternError) && expression.matcher(text).find();
    if (known.size >= REMEMBERED) known.clear();
    if (text.length <= SHORT) known.set(text, matches);
    return matches;
  };
}

/** The number of cached results per pattern: fields of many objects contain the same few strings. */
const REMEMBERED = 500;
const SHORT = 100;
