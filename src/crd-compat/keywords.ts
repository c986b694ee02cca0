/** Checks that each keyword of a schema has a value of the right type. The comparison relies on it. */
import { isObject } from './json.ts';
import type { CrdIssue } from './read.ts';

type Members = Readonly<Record<string, unknown>>;

interface Wanted {
  readonly words: string;
  readonly holds: (value: unknown) => boolean;
}

const isText = (value: unknown): boolean => typeof value === 'string';
const listOf = (holds: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(holds);

const isTextOrAbsent = (value: unknown): boolean => value === undefined || value === null || isText(value);
const ruleTexts = ['message', 'messageExpression', 'reason', 'fieldPath'];

const anything: Wanted = { words: 'anything', holds: () => true };
const text: Wanted = { words: 'a string', holds: isText };
const flag: Wanted = { words: 'true or false', holds: (value) => typeof value === 'boolean' };
const number: Wanted = { words: 'a number', holds: (value) => typeof value === 'number' && Number.isFinite(value) };
const count: Wanted = { words: 'a whole number', holds: Number.isSafeInteger };
const texts: Wanted = { words: 'a list of strings', holds: listOf(isText) };
const values: Wanted = { words: 'a list', holds: Array.isArray };
const schemas: Wanted = { words: 'a list of schemas', holds: listOf(isObject) };
const schema: Wanted = { words: 'a schema', holds: isObject };

const keywords: ReadonlyMap<string, Wanted> = new Map(
  Object.entries({
    type: text,
    format: text,
    pattern: text,
    title: text,
    description: text,
    nullable: flag,
    exclusiveMinimum: flag,
    exclusiveMaximum: flag,
    uniqueItems: flag,
    minimum: number,
    maximum: number,
    multipleOf: { words: 'a number above 0', holds: (value) => number.holds(value) && Number(value) > 0 },
    minLength: count,
    maxLength: count,
    minItems: count,
    maxItems: count,
    minProperties: count,
    maxProperties: count,
    required: texts,
    enum: values,
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    properties: { words: 'fields by name', holds: isObject },
    'x-kubernetes-preserve-unknown-fields': flag,
    'x-kubernetes-embedded-resource': flag,
    'x-kubernetes-int-or-string': flag,
    'x-kubernetes-list-type': text,
    'x-kubernetes-map-type': text,
    'x-kubernetes-list-map-keys': texts,
    'x-kubernetes-validations': {
      words: 'a list of rules, each with a string `rule` and only strings as messages, reason and field path',
      holds: listOf(
        (rule) => isObject(rule) && isText(rule.rule) && ruleTexts.every((name) => isTextOrAbsent(rule[name])),
      ),
    },
  }),
);

/** The keywords that `hasUsualKeywords` does not decide: structural.ts checks them in detail. */
const unusual: ReadonlySet<string> = new Set(['uniqueItems', 'allOf', 'anyOf', 'oneOf', 'not']);
const usual: ReadonlyMap<string, Wanted> = new Map([
  ...[...keywords].filter(([name]) => !unusual.has(name)),
  ...['items', 'additionalProperties', 'default', 'example', 'externalDocs'].map((name) => [name, anything] as const),
]);

/** Whether a schema has only keywords that need no further check, each with a value of the right type. */
export function hasUsualKeywords(members: Members): boolean {
  for (const name in members) {
    const wanted = usual.get(name);
    if (wanted === undefined || !wanted.holds(members[name])) return false;
  }
  return true;
}

const NONE: readonly CrdIssue[] = [];

export function keywordIssues(members: Members, path: string): readonly CrdIssue[] {
  let issues = NONE;
  for (const name in members) {
    const wanted = keywords.get(name);
    if (wanted === undefined || members[name] === undefined || wanted.holds(members[name])) continue;
    const place = `${path}.${name}`;
    const message = `${name} must be ${wanted.words}.`;
    issues = [...issues, { code: 'wrong-type', path: place, message, next: `Correct ${name}, or leave it out.` }];
  }
  return issues;
}
