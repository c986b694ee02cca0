/**
 * Reports what the API server rejects in a definition that is otherwise well-formed: a default that its own schema does
 * not accept, a pattern with a syntax error, a rule that does not compile. A verdict on such a definition would be
 * about one that can never exist. The API server has already accepted the unchanged parts, so they are not checked
 * again.
 */
import { tidy } from './canonical.ts';
import { type Crd, schemaOf } from './crd.ts';
import { type Fault, prune, rulePlace, validator } from './instance/index.ts';
import { expressionOf, PatternError } from './pattern/index.ts';
import type { CrdIssue } from './read.ts';
import type { CrdSchema, ValidationRule } from './schema.ts';
import { MAX_ISSUES } from './structural.ts';

/**
 * `refusedParts` returns the issues of a definition that `readCrd` has read. Without `before` the definition is new.
 */
export function refusedParts(before: Crd | undefined, after: Crd): readonly CrdIssue[] {
  const found: CrdIssue[] = [];
  for (const [index, version] of after.spec.versions.entries()) {
    const counterpart = before?.spec.versions.find(({ name }) => name === version.name);
    const old = counterpart === undefined ? undefined : tidy(schemaOf(counterpart));
    // Tidying against the old schema makes unchanged parts identical, so that they can be skipped.
    const now = tidy(schemaOf(version), old);
    if (now !== undefined && now !== old) walk(now, old, ROOT, `spec.versions[${index}].schema.openAPIV3Schema`, found);
  }
  return found.slice(0, MAX_ISSUES);
}

interface Place {
  /** Whether values at this place are whole resources. */
  readonly resource: boolean;
  /**
   * Whether defaults are checked at this place. The API server checks defaults of metadata separately, and those inside
   * maps not at all.
   */
  readonly defaults: boolean;
}

const ROOT: Place = { resource: true, defaults: true };
const META = new Set(['apiVersion', 'kind', 'metadata']);

function walk(now: CrdSchema, old: CrdSchema | undefined, place: Place, path: string, found: CrdIssue[]): void {
  if (found.length >= MAX_ISSUES) return;
  found.push(...patternIssues(now, path));
  for (const [index, rule] of (now['x-kubernetes-validations'] ?? []).entries())
    found.push(...ruleIssues(rule, now, place.resource, `${path}.x-kubernetes-validations[${index}]`));
  const enter = (schema: CrdSchema, counterpart: CrdSchema | undefined, defaults: boolean, at: string): void => {
    if (schema === counterpart) return;
    if (defaults) found.push(...defaultIssues(schema, at));
    walk(schema, counterpart, { resource: isEmbedded(schema), defaults }, at, found);
  };
  for (const [name, field] of Object.entries(now.properties ?? {})) {
    const defaults = place.defaults && !(place.resource && META.has(name));
    enter(field, old?.properties?.[name], defaults, `${path}.properties.${name}`);
  }
  const { items, additionalProperties: values } = now;
  if (items !== undefined) enter(items, old?.items, place.defaults, `${path}.items`);
  if (typeof values === 'object') {
    const counterpart = typeof old?.additionalProperties === 'object' ? old.additionalProperties : undefined;
    enter(values, counterpart, false, `${path}.additionalProperties`);
  }
}

const isEmbedded = (schema: CrdSchema): boolean => schema['x-kubernetes-embedded-resource'] === true;

/**
 * Yields issues of the patterns in a schema and in its allOf, anyOf, oneOf and not, which contain no rules or defaults.
 */
function* patternIssues(schema: CrdSchema, path: string): Generator<CrdIssue> {
  const { pattern, allOf, anyOf, oneOf, not } = schema;
  const expression = pattern === undefined ? undefined : expressionOf(pattern);
  if (expression instanceof PatternError) {
    yield {
      code: 'pattern',
      path: `${path}.pattern`,
      message: `The pattern ${JSON.stringify(pattern)} cannot be compiled: ${expression.message}.`,
      next: 'Write it in the syntax of Go (RE2): the API server rejects the definition.',
    };
  }
  for (const [junctor, branches] of Object.entries({ allOf, anyOf, oneOf })) {
    for (const [index, branch] of (branches ?? []).entries())
      yield* nestedPatterns(branch, `${path}.${junctor}[${index}]`);
  }
  if (not !== undefined) yield* nestedPatterns(not, `${path}.not`);
}

function* nestedPatterns(schema: CrdSchema, path: string): Generator<CrdIssue> {
  yield* patternIssues(schema, path);
  for (const [name, field] of Object.entries(schema.properties ?? {}))
    yield* nestedPatterns(field, `${path}.properties.${name}`);
  if (schema.items !== undefined) yield* nestedPatterns(schema.items, `${path}.items`);
}

function* ruleIssues(rule: ValidationRule, schema: CrdSchema, resource: boolean, path: string): Generator<CrdIssue> {
  const place = rulePlace(schema, resource);
  const { messageExpression = '' } = rule;
  for (const [name, expression, type] of [
    ['rule', rule.rule, 'bool'],
    ['messageExpression', messageExpression, 'string'],
  ] as const) {
    if (name === 'messageExpression' && expression === '') continue;
    const program = place.program(expression, rule.optionalOldSelf === true, 'few');
    const kind = program.evaluate === undefined ? undefined : program.type.kind;
    if (kind === type) continue;
    const why = program.evaluate === undefined ? program.issues[0].message : `it is a ${kind}, not a ${type}`;
    yield {
      code: 'rule',
      path: `${path}.${name}`,
      message: `The ${name} ${JSON.stringify(expression)} cannot be compiled: ${unended(why)}.`,
      next: 'Correct it: the API server rejects the definition.',
    };
  }
}

function defaultIssues(schema: CrdSchema, path: string): CrdIssue[] {
  // The API server accepts a null default and never applies it.
  if (schema.default === undefined || schema.default === null) return [];
  const why = whyNotAccepted(schema.default, schema);
  if (why === undefined) return [];
  return [
    {
      code: 'default',
      path: `${path}.default`,
      message: `The default ${short(schema.default)} is not accepted by its schema: ${unended(why)}.`,
      next: `Correct the default or the schema: the API server rejects the definition.${typeof schema.default === 'object' ? ' Defaults of nested fields are not applied here.' : ''}`,
    },
  ];
}

function whyNotAccepted(value: unknown, schema: CrdSchema): string | undefined {
  const embedded = isEmbedded(schema);
  const [unknown] = prune(value, schema, { resource: embedded }).pruned;
  if (unknown !== undefined) return `${unknown} is not in the schema`;
  const { validate } = validator(schema, { resource: false });
  // The default is validated as a new value and as an update of itself, so that rules with oldSelf run as well.
  const fault = [...validate(value), ...validate(value, value)].find((each) => counts(each, embedded));
  return fault === undefined ? undefined : `${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`;
}

/**
 * Whether the API server checks the keyword in a default. It skips list types, and only it knows what rules may read of
 * an embedded resource.
 */
const counts = ({ keyword }: Fault, embedded: boolean): boolean =>
  keyword !== 'x-kubernetes-list-type' && !(embedded && keyword === 'x-kubernetes-validations');

const unended = (text: string): string => text.replace(/\.$/, '');

const short = (value: unknown): string => {
  const text = JSON.stringify(value) ?? '';
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
};
