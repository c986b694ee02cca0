/** The parts of a webhook configuration that its builders share. */

export type FailurePolicy = 'Fail' | 'Ignore';

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly operations: readonly string[];
  readonly resources: readonly string[];
  readonly scope: '*';
}

export interface WebhookScope {
  readonly rules: readonly Rule[];
  readonly matchConditions: readonly MatchCondition[];
  /** Namespaces that no request of theirs is sent from; a request without a namespace is. */
  readonly exemptNamespaces: readonly string[];
}
