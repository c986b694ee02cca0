/**
 * Explains a decision to policy authors: for each policy whether it matched and which field of the selector did not,
 * the values of its variables, and the value of every sub-expression of each rule.
 */
import { explain, type Result, show } from '../../cel/index.ts';
import type { RuleResult } from '../decision.ts';
import type { CompiledMatch, MatchAnswer } from '../match/match.ts';
import type { Subject } from '../match/subject.ts';
import type { AdmissionRequest } from '../request.ts';
import { HIDDEN, Sensitive } from '../why/index.ts';
import type { World } from '../world.ts';
import type { CompiledPolicy } from './compile.ts';
import { type DecideOptions, decide } from './decide.ts';
import { EvaluationClock } from './evaluation-clock.ts';
import { findParams } from './params.ts';
import type { Evaluation, Scope } from './scope.ts';
import { type PolicySet, policySet } from './set.ts';
import type { Unit } from './unit.ts';
import { viewOf } from './views.ts';

export interface PolicyExplanation {
  readonly policyKind: CompiledPolicy['model']['kind'];
  readonly policy: string;
  readonly binding?: string;
  /** `needs …` if information is missing. */
  readonly matched: 'yes' | 'no' | string;
  /** The path of the Pod template, if a workload controller was evaluated as its Pod. */
  readonly template?: string;
  /** The answer of every field of the selector, the exclusions and the binding. */
  readonly match: readonly MatchExplanation[];
  readonly conditions: readonly ExpressionExplanation[];
  readonly variables: readonly ExpressionExplanation[];
  /** One entry per rule and params object. */
  readonly rules: readonly RuleExplanation[];
}

export interface MatchExplanation {
  readonly part: 'selector' | 'exclude' | 'binding';
  readonly field: string;
  readonly answer: 'yes' | 'no' | string;
}

export interface ExpressionExplanation {
  readonly name: string;
  readonly expression: string;
  /** The value as text, redacted if it is sensitive. */
  readonly shown: string;
  /** The expression with the values of its sub-expressions below it. */
  readonly picture: string;
  readonly cost: number;
}

export interface RuleExplanation extends ExpressionExplanation {
  /** The params object, as `namespace/name`. */
  readonly params?: string;
  /** The results of `decide` for the rule. */
  readonly results: readonly RuleResult[];
}

/**
 * `explainPolicy` explains how each policy of a set, or one policy, decides a request.
 *
 *     for (const { policy, matched, rules } of explainPolicy(set, request, emptyWorld(Date.now()))) {
 *       console.log(policy, matched, ...rules.map(({ picture }) => picture));
 *     }
 */
export function explainPolicy(
  target: PolicySet | CompiledPolicy,
  request: AdmissionRequest,
  world: World,
  limits: Omit<DecideOptions, 'passes'> = {},
): readonly PolicyExplanation[] {
  const set = 'index' in target ? target : policySet({ policies: [target] });
  const { results } = decide(set, request, world, { passes: true, ...limits });
  return set.policies.map((policy) => {
    const own = results.filter((each) => isOf(each, policy));
    const evaluation = { questions: new Map(), clock: new EvaluationClock(limits.deadline) };
    return explainOne(set, policy, request, world, own, evaluation);
  });
}

const isOf = (result: RuleResult, { model }: CompiledPolicy): boolean =>
  result.policy === model.name && result.policyKind === model.kind && result.binding === model.binding;

function explainOne(
  set: PolicySet,
  policy: CompiledPolicy,
  request: AdmissionRequest,
  world: World,
  results: readonly RuleResult[],
  evaluation: Evaluation,
): PolicyExplanation {
  const { model } = policy;
  const { scope, path, match: matcher } = viewOf(set, policy, request, world, evaluation);
  const { subject } = scope;
  const match = [
    ...fieldsOf('selector', matcher, subject),
    ...(policy.alsoMatch === undefined ? [] : fieldsOf('binding', policy.alsoMatch, subject)),
    ...(policy.exclude === undefined ? [] : fieldsOf('exclude', policy.exclude, subject)),
  ];
  const sensitive = new Sensitive(model, { group: request.kind.group, kind: request.kind.kind });
  const picture = (name: string, unit: Unit): ExpressionExplanation => pictureOf(name, unit, scope, sensitive);
  const answer = overall(policy, matcher, subject);
  const conditions = policy.conditions.map(({ name, unit }) => picture(name, unit));
  const met = !conditions.some(({ shown }) => shown === 'false');
  const matched = answer === 'yes' && !met ? 'no' : answer;
  const base = {
    policyKind: model.kind,
    policy: model.name,
    ...(model.binding === undefined ? {} : { binding: model.binding }),
    matched,
    ...(path === undefined ? {} : { template: path }),
    match,
    conditions: answer === 'no' ? [] : conditions,
  };
  if (matched === 'no') return { ...base, variables: [], rules: [] };
  const rules = eachParams(policy, scope, (params) =>
    policy.rules.map((rule) => ({
      ...picture(rule.model.name, rule.unit),
      ...(params === undefined ? {} : { params }),
      results: results.filter((each) => each.rule === rule.model.name),
    })),
  );
  return { ...base, variables: [...policy.variables].map(([name, unit]) => picture(name, unit)), rules };
}

function fieldsOf(part: MatchExplanation['part'], match: CompiledMatch, subject: Subject): readonly MatchExplanation[] {
  return match.fields(subject).map(({ field, answer }) => ({ part, field, answer: answerText(answer) }));
}

const answerText = (answer: MatchAnswer): string =>
  typeof answer === 'boolean' ? (answer ? 'yes' : 'no') : `needs ${answer.detail}`;

function overall(policy: CompiledPolicy, match: CompiledMatch, subject: Subject): string {
  const answers = [match.answer(subject), policy.alsoMatch?.answer(subject) ?? true];
  const excluded = policy.exclude?.answer(subject) ?? false;
  answers.push(typeof excluded === 'boolean' ? !excluded : excluded);
  if (answers.includes(false)) return 'no';
  return answerText(answers.find((each) => each !== true) ?? true);
}

/** Calls `make` for each params object, or once if the policy has no params. */
function eachParams<T>(policy: CompiledPolicy, scope: Scope, make: (params?: string) => readonly T[]): readonly T[] {
  const found = policy.model.params === undefined ? undefined : findParams(policy, scope);
  if (found === undefined || !('objects' in found)) return make();
  return found.objects.flatMap((params) => {
    scope.useParams(params);
    const { namespace, name } = (params?.metadata ?? {}) as { namespace?: unknown; name?: unknown };
    return make([namespace, name].filter((each) => typeof each === 'string').join('/'));
  });
}

function pictureOf(name: string, unit: Unit, scope: Scope, sensitive: Sensitive): ExpressionExplanation {
  const base = { name, expression: unit.text };
  const missing = scope.missing(unit);
  if (missing !== undefined) return { ...base, shown: `needs ${missing.detail}`, picture: unit.text, cost: 0 };
  if (scope.clock.isLate())
    return { ...base, shown: 'not evaluated: the deadline passed', picture: unit.text, cost: 0 };
  const hidden = sensitive.hidesUnit(unit);
  const redact = ({ path, value }: { path: string | undefined; value: Result }): string | undefined => {
    if (hidden) return typeof value === 'boolean' && path === undefined ? undefined : HIDDEN;
    // The value itself may be shown, but an object on the path to it contains sensitive siblings.
    return typeof value === 'object' && value !== null && sensitive.hidesWithin(path) ? HIDDEN : undefined;
  };
  scope.clock.startExpression();
  const { result, picture, cost } = explain(unit.compiled, scope.inputsOf(unit), {
    budget: scope.clock.newBudget(),
    ...(sensitive.any ? { redact } : {}),
  });
  const shown = hidden && typeof result !== 'boolean' ? HIDDEN : show(result, 200);
  return { ...base, shown, picture, cost };
}
