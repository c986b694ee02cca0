/** The findings of the gates, and the decision that results from them. */
import type { JsonPatchOperation } from '../../policy/index.ts';

export interface Violation {
  /** The gate that reports the violation. */
  readonly gate: string;
  /** A stable, machine-readable code. */
  readonly code: string;
  /** The path of the field, for example `spec.owner`. */
  readonly field: string;
  /** What is wrong, without a full stop. */
  readonly message: string;
  /** What the user can do, without a full stop; empty if the message says it. */
  readonly next: string;
  /** The status reason of the response. Defaults to `Forbidden`. */
  readonly reason?: string;
  /** The rule that is violated, if it is one of a policy. */
  readonly rule?: string;
}

export interface Findings {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  readonly patches: readonly JsonPatchOperation[];
  /** Annotations for the audit log of the API server. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

export const nothing: Findings = { violations: [], warnings: [], patches: [] };

export interface Decision extends Findings {
  readonly allowed: boolean;
}

/** `decisionOf` combines the findings of all gates into one decision. */
export function decisionOf(findings: readonly Findings[]): Decision {
  const violations = findings.flatMap((each) => each.violations);
  const auditAnnotations = Object.assign({}, ...findings.map((each) => each.auditAnnotations ?? {}));
  return {
    allowed: violations.length === 0,
    violations,
    warnings: findings.flatMap((each) => each.warnings),
    // A denied object is not changed.
    patches: violations.length === 0 ? findings.flatMap((each) => each.patches) : [],
    ...(Object.keys(auditAnnotations).length === 0 ? {} : { auditAnnotations }),
  };
}
