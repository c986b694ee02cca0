/** What comes of a request: one result a rule that was looked at, and what follows for the request as a whole. */
import type { AuthorizationAttributes } from '../cel/index.ts';
import type { PolicyKind } from './model.ts';
import type { Json } from './request.ts';

/**
 * `fail`: denied. `warn`: let in with a warning. `audit`: let in, reported. `error`: an expression failed (denied where the
 * failurePolicy is Fail). `skip`: not judged, and why: an exception, or something that only a request could tell.
 */
export type ResultKind = 'pass' | 'fail' | 'warn' | 'audit' | 'error' | 'skip';

export interface RuleResult {
  readonly policyKind: PolicyKind;
  readonly policy: string;
  readonly binding?: string;
  readonly rule: string;
  readonly result: ResultKind;
  /** Whether this one refuses the request: `fail`, and `error` under failurePolicy Fail. */
  readonly denies: boolean;
  /** Also to be put on record (native bindings may deny and audit). */
  readonly audited: boolean;
  /** The author's words, or ours where there are none; empty on pass. */
  readonly message: string;
  /** The part of the expression that made it false with its values, such as `spec.containers[1].image is "x", want prefix "y/"`. Bounded, redacted. */
  readonly why?: string;
  /** The field that is wrong: the rule's fieldPath, or what the explanation found. */
  readonly field?: string;
  readonly reason?: string;
  readonly severity: string;
  readonly category?: string;
  /** `namespace/name` of the PolicyException that it was skipped for. */
  readonly exception?: string;
  /** `needs a request` and the like. */
  readonly skipped?: string;
}

export interface PolicyDecision {
  readonly allowed: boolean;
  /** Revision of the set that judged. */
  readonly revision: string;
  /** Policies that matched, whether anything was wrong or not: an object that none matched is not one that passed. */
  readonly matched: readonly string[];
  /** Everything but passes; passes too where they were asked for. */
  readonly results: readonly RuleResult[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
  /** Cost in the units of Kubernetes, charged to each rule as if it were alone. */
  readonly cost: number;
  /** Questions of `authorizer` that must be answered before the decision counts. */
  readonly questions: readonly AuthorizationAttributes[];
}

export interface MutationDecision {
  /** The object after all mutations; the same reference where none changed it. */
  readonly object: Json;
  readonly changed: boolean;
  /** Policies that changed it. */
  readonly policies: readonly string[];
  readonly results: readonly RuleResult[];
  readonly questions: readonly AuthorizationAttributes[];
}
