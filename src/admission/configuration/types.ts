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
  /** Namespaces whose requests are not sent. Requests without a namespace are sent. */
  readonly exemptNamespaces: readonly string[];
  /** The label that the object must have, before or after the request. Other requests are not sent. */
  readonly objectLabel?: string;
}
