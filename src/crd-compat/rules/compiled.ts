/** Compiles a validation rule against the types of its schema. */
import { type Checked, type Expr, type Result, trust, type Value } from '../../cel/index.ts';
import { valueBySchema } from '../../cel/internal.ts';
import { rulePlace, usesOldSelf } from '../instance/index.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';

export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly ast: Expr;
  /** The rule with types, checked on first use. */
  readonly checked: () => Checked;
  readonly isTransition: boolean;
  /** Whether its values are whole resources. */
  readonly resource: boolean;
  /** Whether a JSON value satisfies the rule. A rule that fails to evaluate is not satisfied. */
  holds(value: unknown): boolean;
}

/**
 * `compileRule` returns the rule, or the reason why it does not compile. At the root of a definition, rules can read
 * metadata that the schema does not name; a rule that compiles only with metadata belongs to a root.
 */
export function compileRule(rule: ValidationRule, schema: CrdSchema): CompiledRule | string {
  if (looksLikeResource(schema)) return compileAs(rule, schema, true);
  const inside = compileAs(rule, schema, false);
  const root = typeof inside === 'string' && schema.type === 'object' ? compileAs(rule, schema, true) : inside;
  return typeof root === 'string' ? inside : root;
}

const MENTIONED = /\boldSelf\b/;

/** Whether a rule reads `oldSelf`. A text search does not suffice: the word can be part of a string or a comment. */
export function isTransitionRule(rule: ValidationRule, schema: CrdSchema): boolean {
  if (!MENTIONED.test(rule.rule)) return false;
  const compiled = compileRule(rule, schema);
  return typeof compiled === 'string' || compiled.isTransition;
}

function compileAs(rule: ValidationRule, schema: CrdSchema, resource: boolean): CompiledRule | string {
  const place = rulePlace(schema, resource);
  const program = place.program(rule.rule, rule.optionalOldSelf === true, 'few');
  if (program.evaluate === undefined) return program.message;
  if (program.type.kind !== 'bool') return 'it does not return a bool';
  let checked: Checked | undefined;
  return {
    rule,
    ast: program.ast,
    checked: () => {
      checked ??= program.checked;
      return checked;
    },
    resource,
    isTransition: usesOldSelf(program),
    holds: (value) => {
      const self: Result = valueBySchema(value as Value, place.types);
      return program.evaluate(trust({ self })) === true;
    },
  };
}

/** The root of a definition has these three fields; a nested object rarely does. */
const looksLikeResource = ({ properties = {} }: CrdSchema): boolean =>
  ['apiVersion', 'kind', 'metadata'].every((each) => Object.hasOwn(properties, each));
