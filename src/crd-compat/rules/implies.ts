/** Decides whether every object that was accepted satisfies a new rule. */
import type { Expr } from '../../cel/index.ts';
import type { CrdSchema, ValidationRule } from '../schema.ts';
import { type CompiledRule, compileRule } from './compiled.ts';
import type { Formula } from './formula.ts';
import { elementOf, type Place, seenAlike } from './place.ts';
import { contradict } from './proof.ts';
import { Reading } from './reading.ts';
import { Terms } from './terms.ts';
import { type ObjectType, WitnessSearch } from './witness.ts';

export interface RuleAnswer {
  readonly answer: 'yes' | 'no' | 'unknown';
  readonly because: string;
  /** For `no`, a value that the old schema and rules accept and the new rule refuses. */
  readonly witness?: unknown;
}

export interface OldRules {
  readonly rules: readonly ValidationRule[];
  readonly schema: CrdSchema;
}

/**
 * `ruleImplies` returns `yes` only with a proof and `no` only with a counterexample. The old rules and the new one
 * apply to the values at one path. `schema` is the new schema at this path; `type` is the type of the objects if they
 * are whole resources.
 */
export function ruleImplies(
  old: OldRules,
  added: ValidationRule,
  schema: CrdSchema,
  type: ObjectType = { apiVersion: 'example.com/v1', kind: 'Example' },
): RuleAnswer {
  const rule = compileRule(added, schema);
  if (typeof rule === 'string') return unknown(`the rule does not compile: ${rule}`);
  const premises = old.rules.map((each) => compileRule(each, old.schema)).filter((each) => typeof each === 'object');
  if (rule.isTransition) return amongTransitions(rule, premises, old.schema, schema);
  const stated = premises.filter((each) => !each.isTransition);
  const root = { before: old.schema, after: schema };
  if (isSame(stated, rule, root)) return { answer: 'yes', because: 'the old schema has the same rule' };
  // A counterexample is usually among the first values. Only if it is not is a proof attempted, which costs more.
  const search = new WitnessSearch(rule, stated, old, schema, type);
  const witness = search.look(FIRST_TRIES);
  const shown = witness === undefined ? whyImplied(stated, rule, root) : undefined;
  if (shown !== undefined) return { answer: 'yes', because: shown };
  const found = witness ?? search.look();
  if (found === undefined) return unknown('neither a proof nor a counterexample was found');
  return { answer: 'no', because: 'a value that was accepted is refused', witness: found.value };
}

const FIRST_TRIES = 120;

const unknown = (because: string): RuleAnswer => ({ answer: 'unknown', because });

function isSame(premises: readonly CompiledRule[], rule: CompiledRule, root: Place): boolean {
  if (premises.length === 0) return false;
  const name = nameOf(rule, root);
  return premises.some((each) => nameOf(each, root) === name) && read(rule, root, trueOf) !== undefined;
}

function whyImplied(premises: readonly CompiledRule[], rule: CompiledRule, root: Place): string | undefined {
  const refused = read(rule, root, (reading, ast) => reading.isNotTrue(ast, new Map()));
  if (refused === undefined) return undefined;
  if (contradict([refused])) return 'every value that the old schema accepts meets it';
  const given = premises.flatMap((each) => read(each, root, trueOf) ?? []);
  if (given.length === 0) return undefined;
  return contradict([...given, refused]) ? 'every value that meets the old rules meets it' : undefined;
}

const trueOf = (reading: Reading, ast: Expr): Formula => reading.isTrue(ast, new Map());

const nameOf = ({ checked, ast }: CompiledRule, root: Place): string =>
  new Terms(checked(), root, () => {}).keyOf(ast, new Map());

/**
 * Returns undefined if the schemas differ in what rules see at the places that the rule reads: then the old rules prove
 * nothing.
 */
function read(
  rule: CompiledRule,
  root: Place,
  formulaOf: (reading: Reading, ast: Expr) => Formula,
): Formula | undefined {
  let areAlike = true;
  let isRead = false;
  const see = (place: Place, deep: boolean): void => {
    if (!isRead && areAlike) areAlike = seenAlike(place, deep);
  };
  const formula = formulaOf(new Reading(new Terms(rule.checked(), root, see)), rule.ast);
  readThrough(formula);
  isRead = true;
  return areAlike ? formula : undefined;
}

/** The body of a loop is read when it gets an element. Each loop gets one here, so that every place is read. */
function readThrough(formula: Formula): void {
  if (formula.kind === 'all' || formula.kind === 'any') formula.parts.forEach(readThrough);
  if (formula.kind !== 'each' && formula.kind !== 'some') return;
  const { key, place, isMap } = formula.range;
  const element = place === undefined || isMap ? undefined : elementOf(place);
  readThrough(formula.body({ key: `${key}[]`, place: element, ...(isMap ? { keyOf: key } : {}) }));
}

/** Compares transition rules with each other; nothing else is known about oldSelf. */
function amongTransitions(
  rule: CompiledRule,
  premises: readonly CompiledRule[],
  before: CrdSchema,
  after: CrdSchema,
): RuleAnswer {
  const root = { before, after };
  const isOptional = rule.rule.optionalOldSelf === true;
  const stated = premises.filter((each) => each.isTransition && (each.rule.optionalOldSelf === true) === isOptional);
  const notShown = unknown('no proof was found that the old transition rules (oldSelf) imply it');
  if (!seenAlike(root, true)) return notShown;
  const name = nameOf(rule, root);
  if (stated.some((each) => nameOf(each, root) === name))
    return { answer: 'yes', because: 'the old schema has the same rule' };
  const shown = whyImplied(stated, rule, root);
  return shown === undefined ? notShown : { answer: 'yes', because: shown };
}
