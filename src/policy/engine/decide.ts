/**
 * Decides a request: one function for the webhook, the CLI, the background scan, policy tests and reconcilers. A rule
 * that passes costs one call and allocates nothing.
 */
import type { AuthorizationAnswer, AuthorizationAttributes } from '../../cel/index.ts';
import type { PolicyDecision } from '../decision.ts';
import type { AdmissionRequest } from '../request.ts';
import type { World } from '../world.ts';
import { EvaluationClock } from './evaluation-clock.ts';
import { RuleEvaluator } from './evaluator.ts';
import { Outcome } from './outcome.ts';
import type { Evaluation } from './scope.ts';
import type { PolicySet } from './set.ts';
import { viewsOf } from './views.ts';

export interface DecideOptions {
  /** Includes the results of rules that pass. */
  readonly passes?: boolean;
  /** In milliseconds since 1970. Rules that were not evaluated by then are errors. */
  readonly deadline?: number;
}

/**
 * `decide` evaluates the policies of a set on a request. It does no input or output; the result depends on its
 * arguments only, except that a `deadline` is compared with the time of day.
 *
 *     const decision = decide(policySet({ policies: [policy] }), request, emptyWorld(Date.now()));
 *     if (!decision.allowed) for (const result of decision.results) console.error(result.rule, resultText(result));
 */
export function decide(
  set: PolicySet,
  request: AdmissionRequest,
  world: World,
  options: DecideOptions = {},
): PolicyDecision {
  const outcome = new Outcome(options.passes ?? false);
  const clock = idleClocks.pop() ?? new EvaluationClock();
  clock.restart(options.deadline);
  try {
    const evaluation: Evaluation = { questions: new Map(), clock };
    for (const view of viewsOf(set, request, world, evaluation)) {
      const evaluator = new RuleEvaluator(set, view, evaluation, outcome);
      for (const group of view.index.candidates(view.scope.subject)) evaluator.group(group);
    }
    return outcome.decision(set, evaluation.questions);
  } finally {
    idleClocks.push(clock);
  }
}

/**
 * The clocks that no decision uses now. They are reused because each compiled expression keeps a reference to the clock
 * of its last evaluation: a new clock for every decision would be a young object referenced by all of them, which costs
 * the garbage collector more than the evaluation itself. A decision never sees anything of the previous one.
 */
const idleClocks: EvaluationClock[] = [];

/** The maximum number of rounds. Each round answers all authorizer questions of the previous one. */
const MAX_ROUNDS = 8;

export type AskAuthorizer = (questions: readonly AuthorizationAttributes[]) => Promise<readonly AuthorizationAnswer[]>;

/**
 * `decideWithAuthorizer` is `decide` with an asynchronous authorizer: `ask` answers the questions of `authorizer`
 * expressions, in order, for example with SubjectAccessReviews.
 */
export async function decideWithAuthorizer(
  set: PolicySet,
  request: AdmissionRequest,
  world: World,
  ask: AskAuthorizer,
  options: DecideOptions = {},
): Promise<PolicyDecision> {
  const known = new Map<string, AuthorizationAnswer>();
  const authorize: World['authorize'] = (attributes) =>
    known.get(JSON.stringify(attributes)) ?? world.authorize?.(attributes);
  const asking: World = {
    now: world.now,
    namespace: (name) => world.namespace(name),
    kindOf: (group, version, plural) => world.kindOf?.(group, version, plural),
    find: (query) => world.find(query),
    authorize,
  };
  let decision = decide(set, request, asking, options);
  for (let round = 0; round < MAX_ROUNDS && decision.questions.length > 0; round++) {
    const { questions } = decision;
    const answers = await ask(questions);
    for (const [index, question] of questions.entries()) {
      known.set(JSON.stringify(question), answers[index] ?? { allowed: false, error: 'no answer' });
    }
    decision = decide(set, request, asking, options);
  }
  return decision;
}
