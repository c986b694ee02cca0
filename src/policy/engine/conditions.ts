/**
 * Match conditions with the semantics of Kubernetes: a false condition excludes the policy even if others fail;
 * otherwise a failure counts.
 */
import { NonValue, type Result } from '../../cel/index.ts';
import type { Missing } from '../match/match.ts';
import type { CompiledCondition } from './compile.ts';
import { errorText } from './results.ts';
import type { Scope } from './scope.ts';
import type { Unit } from './unit.ts';

interface ConditionsAnswer {
  readonly answer: boolean | 'error' | Missing;
  /** The error text. */
  readonly message: string;
  readonly name: string;
}

const MET: ConditionsAnswer = { answer: true, message: '', name: '' };
/** The cost limit of all match conditions, a quarter of that of a policy. */
const COST_LIMIT = 2_500_000;

export function conditionsAnswer(
  conditions: readonly CompiledCondition[],
  scope: Scope,
  charge: (unit: Unit) => number = () => 0,
  words: (unit: Unit, result: Result) => string = errorText,
): ConditionsAnswer {
  let answer = MET;
  const errors: string[] = [];
  let cost = 0;
  for (const [index, { name, unit }] of conditions.entries()) {
    if (index > 0 && scope.clock.isLate())
      return { answer: 'error', message: 'the deadline passed before all match conditions were evaluated', name };
    const missing = unit.plain ? undefined : scope.missing(unit);
    if (missing !== undefined) {
      if (answer === MET) answer = { answer: missing, message: '', name };
      continue;
    }
    const result = scope.evaluate(unit);
    if (result === false) return { answer: false, message: '', name };
    cost += charge(unit);
    if (cost > COST_LIMIT) return { answer: 'error', message: 'match conditions ran out of cost budget', name };
    // A known failure takes precedence over missing information.
    if (result instanceof NonValue || result !== true) {
      errors.push(words(unit, result));
      answer = { answer: 'error', message: errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]`, name };
    }
  }
  return answer;
}
