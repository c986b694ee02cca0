/** What the gates find in a request, and the decision that their findings add up to. */
import type { JsonPatchOperation } from '../../policy/index.ts';

export interface Violation {
  /** The gate that found it. */
  readonly gate: string;
  /** Stable, for programs. */
  readonly code: string;
  /** Path of the field, such as `spec.owner`. */
  readonly field: string;
  /** What is wrong, without a full stop. */
  readonly message: string;
  /** What the user can do, without a full stop; empty where the message says it. */
  readonly next: string;
  /** Of the answer of the API server; left out, `Forbidden`. */
  readonly reason?: string;
}

export interface Findings {
  readonly violations: readonly Violation[];
  readonly warnings: readonly string[];
  readonly patches: readonly JsonPatchOperation[];
  /** For the API server's audit log. */
  readonly auditAnnotations?: Readonly<Record<string, string>>;
}

export const nothing: Findings = { violations: [], warnings: [], patches: [] };

export interface Decision extends Findings {
  readonly allowed: boolean;
}

/** One decision from what each gate has found. */
export function decisionOf(findings: readonly Findings[]): Decision {
  const violations = findings.flatMap((each) => each.violations);
  const auditAnnotations = Object.assign({}, ...findings.map((each) => each.auditAnnotations ?? {}));
  return {
    allowed: violations.length === 0,
    violations,
    warnings: findings.flatMap((each) => each.warnings),
    // An object that is refused is not changed.
    patches: violations.length === 0 ? findings.flatMap((each) => each.patches) : [],
    ...(Object.keys(auditAnnotations).length === 0 ? {} : { auditAnnotations }),
  };
}
