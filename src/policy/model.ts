/**
 * One shape for every kind of policy: our Policy, ValidatingAdmissionPolicy and MutatingAdmissionPolicy with a binding, and what
 * `kidp convert` reads. Loaders make it, the engine compiles it; it is plain data.
 */
import type { Json, Operation } from './request.ts';
import type { LabelSelector } from './world.ts';

export type PolicyKind = 'Policy' | 'ValidatingAdmissionPolicy' | 'MutatingAdmissionPolicy';

export interface PolicyModel {
  readonly kind: PolicyKind;
  readonly name: string;
  /** Of a native policy. */
  readonly binding?: string;
  /** Tells one state of the policy from another: uid and generation, or a digest of the text. */
  readonly revision: string;
  readonly match: MatchModel;
  readonly exclude?: MatchModel;
  /** Native policies match what binding and policy both match. */
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

/** An expression, and where it stands in the policy, such as `spec.rules[0].expression`. */
export interface ExpressionModel {
  readonly path: string;
  readonly text: string;
}

export interface NamedExpression extends ExpressionModel {
  readonly name: string;
}

/** All that are given must hold; in a list, any. */
export interface MatchModel {
  readonly types?: readonly TypeMatch[];
  /** Types that are left out of `types`, as native excludeResourceRules. */
  readonly excludeTypes?: readonly TypeMatch[];
  readonly operations?: readonly Operation[];
  /** On object or oldObject: one of them is enough. */
  readonly objectSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  readonly namespaceSelector?: LabelSelector;
  readonly names?: readonly string[];
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
  readonly serviceAccounts?: readonly string[];
  /** False: kube-system and the platform's own namespace are exempt. */
  readonly includeSystemNamespaces?: boolean;
}

/** Each field is an exact value, `*`, or a pattern with `*` inside where our Policy allows one. The core group is the empty text. */
export interface TypeMatch {
  readonly group: string;
  readonly version: string;
  /** Our policies name kinds, native ones resources (plural, lower case); one of the two is given. */
  readonly kind?: string;
  readonly resource?: string;
  /** Left out: only the resource itself. `*`: the resource and all of its subresources. */
  readonly subresource?: string;
  /** Native rules carry operations of their own. */
  readonly operations?: readonly Operation[];
  readonly resourceNames?: readonly string[];
  readonly scope?: '*' | 'Cluster' | 'Namespaced';
  /** Native `Equivalent` (the default) also matches other versions of the group; ours always does only what `version` says. */
  readonly equivalent?: boolean;
  /** Leaves out Events, Leases and access reviews, as our `*` does. */
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
  /** Ours has one; a native binding may have Warn and Audit together, or Deny and Audit. */
  readonly actions: readonly Action[];
  /** Milliseconds since 1970: until then the rule only audits. */
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

/** With neither name nor selector (a native policy whose binding has no paramRef) `params` is null. */
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
  /** Of the six of Kubernetes. */
  readonly kinds: readonly string[];
  readonly additional: readonly { readonly type: TypeMatch; readonly path: string }[];
}

export interface ExceptionModel {
  readonly name: string;
  /** As that of a policy. */
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

/** What is wrong with a policy, for its author. */
export interface PolicyIssue {
  readonly severity: 'error' | 'warning';
  /** Stable, for programs. */
  readonly code: string;
  readonly policy: string;
  /** The field of the policy, such as `spec.rules[0].expression`; empty for the whole. */
  readonly path: string;
  /** Within the text of the field, from 1. */
  readonly line?: number;
  readonly column?: number;
  /** What is wrong and what to do about it, with the caret picture where it is an expression. */
  readonly message: string;
  /** The type of resource that it does not fit, where it is about one. */
  readonly resourceType?: string;
}
