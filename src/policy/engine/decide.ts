/**
 * The decision: (a set of policies, a request, what else is known) → what comes of it. One function for the webhook, the CLI, the
 * scan, a policy's own tests and the reconcilers. A rule that passes costs one call and leaves nothing behind.
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
  /** Results of rules that hold, too. */
  readonly passes?: boolean;
  /** Milliseconds since 1970: what has not been judged by then is an error. */
  readonly deadline?: number;
}

export function decide(
  set: PolicySet,
  request: AdmissionRequest,
  world: World,
  options: DecideOptions = {},
): PolicyDecision {
  const outcome = new Outcome(options.passes ?? false);
  const evaluation: Evaluation = { questions: new Map(), clock: new EvaluationClock(options.deadline) };
  for (const view of viewsOf(set, request, world, evaluation)) {
    const evaluator = new RuleEvaluator(set, view, evaluation, outcome);
    for (const group of view.lane.candidates(view.scope.subject)) evaluator.group(group);
  }
  return outcome.decision(set, evaluation.questions);
}

/** No policy asks more often than this in a row: each round answers all that the one before wanted to know. */
const MAX_ROUNDS = 8;

export type AskAuthorizer = (questions: readonly AuthorizationAttributes[]) => Promise<readonly AuthorizationAnswer[]>;

/** As `decide`, with the questions of `authorizer` answered by `ask`, in the order they are given. */
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
