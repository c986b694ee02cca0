/** The CEL rules of one place of a schema: compiled on first use, and run with the cost limits of the API server. */
import {
  type Budget,
  CelError,
  type Compiled,
  NonValue,
  Optional,
  type Result,
  trust,
  type Value,
  type Variables,
} from '../../cel/index.ts';
import { trustedBySchema } from '../../cel/internal.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type RulePlace, type Runs, rulePlace, usesOldSelf } from './rule-program.ts';
import type { Run } from './run.ts';

/** The cost limit for all rules of one object together. */
export const OBJECT_COST_LIMIT = 10_000_000;

export interface RuleSession {
  readonly run: Run;
  readonly budget: Budget;
  /** Whether the budget is spent: then no further rule runs. */
  over: boolean;
  /** Whether an update has left the value of the rule unchanged. */
  isExcused(): boolean;
}

interface CompiledRule {
  readonly rule: ValidationRule;
  readonly program: Compiled | undefined;
  /** The reason why the rule does not compile. */
  readonly broken: string;
  readonly usesOldSelf: boolean;
  readonly optionalOldSelf: boolean;
  /** The messageExpression, compiled when the rule first fails; undefined if the rule has none. */
  readonly message: () => Compiled | undefined;
}

export class CompiledRules {
  readonly #place: RulePlace;
  readonly #rules: readonly CompiledRule[];
  readonly #usesOldSelf: boolean;
  readonly #optionalOldSelf: boolean;

  constructor(rules: readonly ValidationRule[], schema: CrdSchema, resource: boolean, runs: Runs) {
    this.#place = rulePlace(schema, resource);
    this.#rules = rules.filter(({ rule }) => rule.trim() !== '').map((rule) => compileRule(rule, this.#place, runs));
    this.#usesOldSelf = this.#rules.some(({ usesOldSelf }) => usesOldSelf);
    this.#optionalOldSelf = this.#rules.some(({ optionalOldSelf }) => optionalOldSelf);
  }

  check(value: unknown, old: unknown, session: RuleSession): void {
    const self = trustedBySchema(value as Value, this.#place.types);
    const before = this.#usesOldSelf ? this.#before(value, self, old) : undefined;
    const variables = trust(before === undefined ? { self } : { self, oldSelf: before });
    const held = before instanceof NonValue ? before : new Optional(asData(old, before));
    const optional = this.#optionalOldSelf ? trust({ self, oldSelf: held }) : variables;
    for (const rule of this.#rules) {
      // A transition rule does not apply if there is no old value.
      if (rule.usesOldSelf && before === undefined && !rule.optionalOldSelf) continue;
      checkRule(rule, rule.optionalOldSelf ? optional : variables, session);
      if (session.over) return;
    }
  }

  #before(value: unknown, self: Result, old: unknown): Result | undefined {
    if (old === undefined || old === null) return undefined;
    return old === value ? self : trustedBySchema(old as Value, this.#place.types);
  }
}

/**
 * Inside an optional, the API server passes rules the raw object instead of the typed one; scalars keep their types.
 */
const asData = (old: unknown, seen: Value | undefined): Value | undefined =>
  typeof old === 'object' && seen !== undefined ? (old as Value) : seen;

const KEYWORD = 'x-kubernetes-validations';

function checkRule(compiled: CompiledRule, variables: Variables, session: RuleSession): void {
  const { rule, program } = compiled;
  const { run } = session;
  if (program === undefined) {
    run.fault(KEYWORD, `the rule ${rule.rule} cannot be compiled: ${compiled.broken}`, rule.rule);
    return;
  }
  const result = program.evaluate(variables, session.budget);
  if (result === true) return;
  if (result instanceof CelError) {
    session.over = result.code === 'cost_exceeded';
    run.fault(KEYWORD, `${result.message} evaluating rule: ${nameOf(rule)}`, rule.rule);
    return;
  }
  // Rules with oldSelf are about the change, so that an unchanged value does not excuse them.
  if (!compiled.usesOldSelf && session.isExcused()) return;
  const message = messageOf(compiled, variables, session);
  const steps = stepsOf(rule.fieldPath ?? '');
  for (const step of steps) run.enter(step);
  run.fault(KEYWORD, message, rule.rule);
  for (const _ of steps) run.leave();
}

const nameOf = ({ rule, message = '' }: ValidationRule): string => (message === '' ? rule : message).trim();

/** Parses `.spec.name` and `.labels['a.b']`. */
const stepsOf = (fieldPath: string): readonly string[] =>
  [...fieldPath.matchAll(/\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/g)].map(([, name, quoted]) => name ?? quoted ?? '');

const MAX_MESSAGE = 5 * 1024;

function messageOf(compiled: CompiledRule, variables: Variables, session: RuleSession): string {
  const { rule } = compiled;
  const otherwise = (rule.message ?? '') === '' ? `failed rule: ${rule.rule.trim()}` : (rule.message ?? '').trim();
  const result = compiled.message()?.evaluate(variables, session.budget);
  if (result instanceof CelError) session.over = result.code === 'cost_exceeded';
  if (typeof result !== 'string') return otherwise;
  const text = result.trim();
  return text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE ? otherwise : text;
}

function compileRule(rule: ValidationRule, place: RulePlace, runs: Runs): CompiledRule {
  const optionalOldSelf = rule.optionalOldSelf === true;
  const found = place.program(rule.rule, optionalOldSelf, runs);
  const broken =
    found.evaluate === undefined ? found.message : found.type.kind === 'bool' ? '' : 'it does not return a bool';
  const program = found.evaluate === undefined || broken !== '' ? undefined : found;
  return {
    rule,
    program,
    broken,
    usesOldSelf: program !== undefined && usesOldSelf(program),
    optionalOldSelf,
    message: () => {
      const { messageExpression = '' } = rule;
      const message = messageExpression === '' ? undefined : place.program(messageExpression, optionalOldSelf, runs);
      return message?.evaluate === undefined ? undefined : message;
    },
  };
}
