/**
 * The gate of Policies: asks the engine about a request, by one revision of the policies from beginning to end, and puts what it
 * answers into the words of a denial.
 */
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

/** Policies as they are now; whoever asks holds on to one answer for the whole of a request. */
export interface PolicySource {
  current(): { readonly set: PolicySet; readonly world: World };
  /** Whether all policies, exceptions and what they look at are known. Until then nothing is judged. */
  synced(): boolean;
  /** Called when `current` would answer otherwise, for who keeps the webhook configurations in line. Returns what ends it. */
  subscribe?(listener: () => void): () => void;
  /** Reads a Namespace that was made a moment ago, so that the world knows it. */
  knowNamespace?(name: string, signal?: AbortSignal): Promise<void>;
}

interface PolicyQuestion {
  readonly set: PolicySet;
  readonly world: World;
  readonly request: AdmissionRequest;
  readonly ask: AskAuthorizer;
  /** Milliseconds since 1970. */
  readonly deadline: number;
}

/** At once where no rule asks who may do what: a promise for each request would be felt. */
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
  // Somebody has to be asked still: what would come of it is not known, and must not pass.
  if (decision.questions.length > 0) violations.push(unanswered);
  if (decision.matched.length === 0) return { violations, warnings, patches: [] };
  return { violations, warnings, patches: [], auditAnnotations: annotationsOf(decision, microseconds) };
}

const unanswered: Violation = {
  gate: 'policies',
  code: 'TooManyQuestions',
  field: '',
  message: 'a policy goes on asking who may do what',
  next: 'Let its author ask less of authorizer',
};

export function violationOf(result: RuleResult): Violation {
  const { rule, field = '', reason } = result;
  return {
    gate: gateOf(result),
    code: rule,
    field,
    message: resultText(result),
    next: '',
    ...(reason === undefined ? {} : { reason }),
  };
}

/** `policy require-backup, rule enabled`: whom to ask, and what to look for there. */
const gateOf = ({ policy, binding, rule }: RuleResult): string =>
  `policy ${policy}${binding === undefined ? '' : ` (binding ${binding})`}, rule ${rule}`;

/** An annotation is one line of an audit log, whatever the number of policies. */
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

/** The API server puts the name of the webhook and a `/` in front, drops a key with two of them, and has room for 63 characters. */
const keyOf = (key: string): string =>
  key
    .replaceAll('/', '.')
    .slice(-63)
    .replace(/^[^A-Za-z0-9]+/, '');

const named = (names: readonly string[]): string =>
  names.length <= mostNamed
    ? names.join(',')
    : `${names.slice(0, mostNamed).join(',')} and ${names.length - mostNamed} more`;
