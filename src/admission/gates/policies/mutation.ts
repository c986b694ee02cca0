/** Applies the mutations of Policies to a request. */
import type { AuthorizationAnswer, AuthorizationAttributes } from '../../../cel/index.ts';
import {
  type AskAuthorizer,
  type MutationDecision,
  mutate,
  type PolicySet,
  type World,
} from '../../../policy/index.ts';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { type Findings, nothing } from '../../review/findings.ts';
import { withoutItself } from './applicable-policies.ts';
import { violationOf } from './evaluation.ts';

interface MutationQuestion {
  readonly set: PolicySet;
  readonly world: World;
  readonly request: AdmissionRequest;
  readonly ask: AskAuthorizer;
  /** Selects the mutations by their reinvocation policy. */
  readonly reinvocation: 'Never' | 'IfNeeded';
  /** See `MutateOptions`. */
  readonly requestOnly: boolean;
  /** The deadline in milliseconds since 1970. */
  readonly deadline: number;
}

export interface PolicyMutationResult {
  readonly object: Json;
  readonly changed: boolean;
  readonly findings: Findings;
}

/** The maximum number of rounds of authorization checks. A mutation may request more checks after each result. */
const mostRounds = 8;

export async function applyPolicyMutations(question: MutationQuestion): Promise<PolicyMutationResult> {
  const { set, world, request, ask, reinvocation, requestOnly, deadline } = question;
  const others = withoutItself(set, request);
  const answers = new Map<string, AuthorizationAnswer>();
  const answered: World = {
    now: world.now,
    namespace: (name) => world.namespace(name),
    find: (query) => world.find(query),
    authorize: (question) => answers.get(keyOf(question)),
    kindOf: (group, version, plural) => world.kindOf?.(group, version, plural),
    schema: (kind) => world.schema?.(kind),
  };
  for (let round = 1; ; round += 1) {
    const decision = mutate(others, request, answered, { reinvocation, requestOnly, deadline });
    if (decision.questions.length === 0 || round === mostRounds) return resultOf(decision);
    const given = await ask(decision.questions);
    for (const [index, asked] of decision.questions.entries()) {
      answers.set(keyOf(asked), given[index] ?? { allowed: false, error: 'the access review returned no result' });
    }
  }
}

const keyOf = (question: AuthorizationAttributes): string => JSON.stringify(question);

function resultOf({ object, changed, results, questions }: MutationDecision): PolicyMutationResult {
  const violations = results.filter(({ denies }) => denies).map(violationOf);
  if (questions.length > 0) {
    violations.push({
      gate: 'policies',
      code: 'AuthorizerRoundsExceeded',
      field: '',
      message: `a mutation still requests authorizer checks after ${mostRounds} rounds`,
      next: 'Ask its author to use fewer authorizer checks',
    });
  }
  return { object, changed, findings: violations.length === 0 ? nothing : { ...nothing, violations } };
}
