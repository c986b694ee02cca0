/** The mutations of Policies on one request, and what of them refuses it. */
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
  /** Only the mutations that want to be asked again, or those that do not. */
  readonly reinvocation: 'Never' | 'IfNeeded';
  /** Milliseconds since 1970. */
  readonly deadline: number;
}

export interface PolicyMutationResult {
  readonly object: Json;
  readonly changed: boolean;
  readonly findings: Findings;
}

/** A mutation may ask more once it has an answer; one that never comes to an end is not waited for. */
const mostRounds = 8;

export async function applyPolicyMutations(question: MutationQuestion): Promise<PolicyMutationResult> {
  const { set, world, request, ask, reinvocation, deadline } = question;
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
    const decision = mutate(others, request, answered, { reinvocation, deadline });
    if (decision.questions.length === 0 || round === mostRounds) return resultOf(decision);
    const given = await ask(decision.questions);
    for (const [index, asked] of decision.questions.entries()) {
      answers.set(keyOf(asked), given[index] ?? { allowed: false, error: 'there was no answer' });
    }
  }
}

const keyOf = (question: AuthorizationAttributes): string => JSON.stringify(question);

function resultOf({ object, changed, results, questions }: MutationDecision): PolicyMutationResult {
  const violations = results.filter(({ denies }) => denies).map(violationOf);
  if (questions.length > 0) {
    violations.push({
      gate: 'policies',
      code: 'TooManyQuestions',
      field: '',
      message: `a mutation still asks who may do what after ${mostRounds} rounds`,
      next: 'Let its author ask less of authorizer',
    });
  }
  return { object, changed, findings: violations.length === 0 ? nothing : { ...nothing, violations } };
}
