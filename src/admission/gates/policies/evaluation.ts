/** The policies gate: evaluates one revision of the policies for a request and turns the results into a denial. */
import {
  type AskAuthorizer,
  decide,
  decideWithAuthorizer,
  type PolicyDecision,
  type PolicySet,
  type RuleResult,
  resultText,
  type World,
} from '../../../policy/index.ts';
import type { AdmissionRequest } from '../../review/decode.ts';
import type { Findings, Violation } from '../../review/findings.ts';
import { withoutItself } from './applicable-policies.ts';

/** The current policies. A caller uses one snapshot for a whole request. */
export interface PolicySource {
  current(): { readonly set: PolicySet; readonly world: World };
  /**
   * Reports whether all policies, exceptions and the objects that they read are cached. Until then no request is
   * evaluated.
   */
  synced(): boolean;
  /**
   * Calls back when `current` changes, so that the webhook configurations can be synced. Returns a function that ends
   * the subscription.
   */
  subscribe?(listener: () => void): () => void;
  /** Reads a new Namespace from the API server, so that the policies can see it. */
  knowNamespace?(name: string, signal?: AbortSignal): Promise<void>;
}

interface PolicyQuestion {
  readonly set: PolicySet;
  readonly world: World;
  readonly request: AdmissionRequest;
  readonly ask: AskAuthorizer;
  /** The deadline in milliseconds since 1970. */
  readonly deadline: number;
}

/**
 * `evaluatePolicies` is synchronous unless a rule uses `authorizer`: a promise for each request would be measurable.
 */
export function evaluatePolicies(question: PolicyQuestion): PolicyDecision | Promise<PolicyDecision> {
  const { request, world, ask, deadline } = question;
  const set = withoutItself(question.set, request);
  const first = decide(set, request, world, { deadline });
  return first.questions.length === 0 ? first : decideWithAuthorizer(set, request, world, ask, { deadline });
}

export function findingsOf(decision: PolicyDecision, microseconds: number): Findings {
  const violations: Violation[] = [];
  const warnings: string[] = [];
  for (const result of decision.results) {
    if (result.denies) violations.push(violationOf(result));
    else if (result.result === 'warn') warnings.push(`${gateOf(result)}: ${resultText(result)}`);
  }
  // Authorization checks are pending: the result is unknown, so the request must not be admitted.
  if (decision.questions.length > 0) violations.push(unanswered);
  if (decision.matched.length === 0) return { violations, warnings, patches: [] };
  return { violations, warnings, patches: [], auditAnnotations: annotationsOf(decision, microseconds) };
}

const unanswered: Violation = {
  gate: 'policies',
  code: 'AuthorizerRoundsExceeded',
  field: '',
  message: 'a policy requests too many rounds of authorizer checks',
  next: 'Ask its author to use fewer authorizer checks',
};

export function violationOf(result: RuleResult): Violation {
  const { rule, field = '', reason } = result;
  return {
    gate: gateOf(result),
    code: rule,
    rule,
    field,
    message: resultText(result),
    next: '',
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Names the policy and the rule: `policy require-backup, rule enabled`. */
const gateOf = ({ policy, binding, rule }: RuleResult): string =>
  `policy ${policy}${binding === undefined ? '' : ` (binding ${binding})`}, rule ${rule}`;

/** The maximum number of names in an audit annotation. */
const mostNamed = 20;

function annotationsOf(decision: PolicyDecision, microseconds: number): Readonly<Record<string, string>> {
  const annotations: Record<string, string> = {
    ...Object.fromEntries(Object.entries(decision.auditAnnotations).map(([key, value]) => [keyOf(key), value])),
    revision: decision.revision,
    'latency-microseconds': String(Math.round(microseconds)),
    policies: named(decision.matched),
  };
  for (const kind of ['fail', 'warn', 'audit', 'error'] as const) {
    const found = decision.results.filter(({ result }) => result === kind);
    if (found.length > 0) annotations[kind] = named(found.map(({ policy, rule }) => `${policy}/${rule}`));
  }
  return annotations;
}

/**
 * Shortens the key of an annotation: the API server prefixes it with the webhook name and a `/`, drops keys with two
 * slashes, and allows 63 characters.
 */
const keyOf = (key: string): string =>
  key
    .replaceAll('/', '.')
    .slice(-63)
    .replace(/^[^A-Za-z0-9]+/, '');

const named = (names: readonly string[]): string =>
  names.length <= mostNamed
    ? names.join(',')
    : `${names.slice(0, mostNamed).join(',')} and ${names.length - mostNamed} more`;
