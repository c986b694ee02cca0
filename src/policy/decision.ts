/** The decision on a request: one result per evaluated rule, and the verdict on the request. */
import type { AuthorizationAttributes } from '../cel/index.ts';
import type { PolicyKind } from './model.ts';
import type { Json } from './request.ts';

/**
 * `fail`: denied. `warn`: admitted with a warning. `audit`: admitted and reported. `error`: an expression failed
 * (denied if the failurePolicy is Fail). `skip`: not evaluated, because of an exception or because information about
 * the request is missing.
 */
export type ResultKind = 'pass' | 'fail' | 'warn' | 'audit' | 'error' | 'skip';

export interface RuleResult {
  readonly policyKind: PolicyKind;
  readonly policy: string;
  readonly binding?: string;
  readonly rule: string;
  readonly result: ResultKind;
  /** Whether this result denies the request: `fail`, and `error` with failurePolicy Fail. */
  readonly denies: boolean;
  /** Whether the result is also audited (native bindings may deny and audit). */
  readonly audited: boolean;
  /** The author's message, or a default; empty on pass. */
  readonly message: string;
  /**
   * The sub-expression that made the rule false, with its values: `spec.containers[1].image is "x", want prefix "y/"`.
   * Limited in length, redacted.
   */
  readonly why?: string;
  /** The field that violates the rule: its fieldPath, or the field that the explanation found. */
  readonly field?: string;
  readonly reason?: string;
  readonly severity: string;
  readonly category?: string;
  /** The PolicyException that exempts the object, as `namespace/name`. */
  readonly exception?: string;
  /** Why the rule was skipped, such as `needs a request: user info`. */
  readonly skipped?: string;
}

export interface PolicyDecision {
  readonly allowed: boolean;
  /** The revision of the policy set. */
  readonly revision: string;
  /** The policies that matched. An object that no policy matched has not passed any. */
  readonly matched: readonly string[];
  /** All results except passes; with the option `passes`, all results. */
  readonly results: readonly RuleResult[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
  /** The cost in Kubernetes cost units. Shared work is charged to each rule. */
  readonly cost: number;
  /** Open questions of `authorizer`. The decision is final only if there are none. */
  readonly questions: readonly AuthorizationAttributes[];
}

export interface MutationDecision {
  /** The object after all mutations; the same reference if nothing changed. */
  readonly object: Json;
  readonly changed: boolean;
  /** The policies that changed the object. */
  readonly policies: readonly string[];
  readonly results: readonly RuleResult[];
  readonly questions: readonly AuthorizationAttributes[];
}
