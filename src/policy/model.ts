/**
 * The common model of all policy kinds: Policy, ValidatingAdmissionPolicy and MutatingAdmissionPolicy with a binding,
 * and the inputs of `kidp convert`. Loaders create it and the engine compiles it; it is plain data.
 */
import type { Json, Operation } from './request.ts';
import type { LabelSelector } from './world.ts';

export type PolicyKind = 'Policy' | 'ValidatingAdmissionPolicy' | 'MutatingAdmissionPolicy';

export interface PolicyModel {
  readonly kind: PolicyKind;
  readonly name: string;
  /** The binding of a native policy. */
  readonly binding?: string;
  /** Identifies a state of the policy: uid and generation, or a digest of the text. */
  readonly revision: string;
  readonly match: MatchModel;
  readonly exclude?: MatchModel;
  /** The selector of the binding: native policies match if both policy and binding match. */
  readonly alsoMatch?: MatchModel;
  readonly matchConditions: readonly NamedExpression[];
  readonly params?: ParamsModel;
  readonly context: readonly ContextModel[];
  readonly variables: readonly NamedExpression[];
  readonly podControllers?: PodControllersModel;
  readonly failurePolicy: 'Fail' | 'Ignore';
  readonly rules: readonly RuleModel[];
  readonly mutations: readonly MutationModel[];
  readonly reinvocationPolicy: 'Never' | 'IfNeeded';
  readonly sensitivePaths: readonly string[];
  readonly tests: readonly Json[];
}

/** An expression and its path in the policy, such as `spec.rules[0].expression`. */
export interface ExpressionModel {
  readonly path: string;
  readonly text: string;
}

export interface NamedExpression extends ExpressionModel {
  readonly name: string;
}

/** All fields that are set must match; in a list, one match is enough. */
export interface MatchModel {
  readonly types?: readonly TypeMatch[];
  /** Types that are excluded from `types`, like native excludeResourceRules. */
  readonly excludeTypes?: readonly TypeMatch[];
  readonly operations?: readonly Operation[];
  /** Matched against object and oldObject; one match is enough. */
  readonly objectSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly names?: readonly string[];
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  readonly serviceAccounts?: readonly string[];
  /** If false, kube-system and the platform's own namespace are exempt. */
  readonly includeSystemNamespaces?: boolean;
}

/** Each field is an exact value, `*`, or, in a Policy, a pattern with `*`. The core group is the empty string. */
export interface TypeMatch {
  readonly group: string;
  readonly version: string;
  /** A Policy names kinds, native policies name resources (plural, lower case); one of the two is set. */
  readonly kind?: string;
  readonly resource?: string;
  /** If absent, only the resource itself. `*` is the resource and all its subresources. */
  readonly subresource?: string;
  /** The operations of a native rule. */
  readonly operations?: readonly Operation[];
  readonly resourceNames?: readonly string[];
  readonly scope?: '*' | 'Cluster' | 'Namespaced';
  /** Native `Equivalent` (the default) also matches other versions of the group; a Policy matches `version` only. */
  readonly equivalent?: boolean;
  /** Excludes Events, Leases and access reviews, like `*` in a Policy. */
  readonly sparing?: boolean;
}

export type Action = 'Deny' | 'Warn' | 'Audit';

export interface RuleModel {
  readonly name: string;
  readonly expression: ExpressionModel;
  readonly message?: string;
  readonly messageExpression?: ExpressionModel;
  readonly fieldPath?: string;
  readonly reason?: string;
  readonly severity: 'info' | 'low' | 'medium' | 'high' | 'critical';
  readonly category?: string;
  /** A Policy rule has one action; a native binding may have Warn and Audit, or Deny and Audit. */
  readonly actions: readonly Action[];
  /** In milliseconds since 1970. Until then the rule only audits. */
  readonly enforceAfter?: number;
  readonly ratchet: boolean;
  readonly exceptions: 'Allowed' | 'Never';
  readonly auditAnnotations: readonly { readonly key: string; readonly value: ExpressionModel }[];
}

export interface MutationModel {
  readonly name: string;
  readonly patchType: 'ApplyConfiguration' | 'JSONPatch';
  readonly expression: ExpressionModel;
}

/** Without name and selector (a native policy whose binding has no paramRef), `params` is null. */
export interface ParamsModel {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelector;
  readonly notFound: 'Allow' | 'Deny';
}

export interface ContextModel {
  readonly name: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly resourceName?: string;
  readonly namespace?: string;
  readonly selector?: LabelSelector;
}

export interface PodControllersModel {
  /** Kinds of the six workload controllers of Kubernetes. */
  readonly kinds: readonly string[];
  readonly additional: readonly { readonly type: TypeMatch; readonly path: string }[];
}

export interface ExceptionModel {
  readonly name: string;
  /** Like the revision of a policy. */
  readonly revision: string;
  readonly namespace: string;
  readonly policies: readonly { readonly name: string; readonly rules?: readonly string[] }[];
  readonly match?: MatchModel;
  readonly matchConditions: readonly NamedExpression[];
  readonly reason: string;
  readonly requester: string;
  /** Milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** An issue of a policy, for its author. */
export interface PolicyIssue {
  readonly severity: 'error' | 'warning';
  /** A stable code for programs. */
  readonly code: string;
  readonly policy: string;
  /** The field of the policy, such as `spec.rules[0].expression`; empty for the whole policy. */
  readonly path: string;
  /** The position in the text of the field, starting at 1. */
  readonly line?: number;
  readonly column?: number;
  /** The problem and its fix, with a caret diagram for expressions. */
  readonly message: string;
  /** The resource type that the issue concerns, if any. */
  readonly resourceType?: string;
}
