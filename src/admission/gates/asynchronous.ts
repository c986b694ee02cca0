/**
 * The asynchronous gates of the platform: those that read the cluster, ask the authorizer or compare in a worker thread.
 * The server and the fuzzer have them from here, so that each gate of the server is also fuzzed.
 */
import { GROUP, policyException, policy as policyKind } from '../../api/index.ts';
import type { PolicyModel } from '../../policy/index.ts';
import type { Client, Logger } from '../../runtime/index.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import { type Findings, nothing } from '../review/findings.ts';
import { cleanupGate } from './cleanup.ts';
import { approvalVerbGate, type Comparers, type CrdGateOptions, crdGate, type crdMetrics } from './crds/index.ts';
import type { AsyncGate } from './gate.ts';
import { inUseGate } from './in-use.ts';
import { namespaceGate, namespaceLabelGate } from './namespaces/index.ts';
import { operatorsGate } from './operators/index.ts';
import type { OwnerLookup } from './ownership/owner-chain.ts';
import type { PipelineOptions } from './pipeline.ts';
import { type AuthorRightsOptions, authorRightsGate } from './policies/author-rights.ts';
import type { PolicySource } from './policies/evaluation.ts';
import { secretsGate } from './secrets.ts';

interface AsynchronousGatesOptions {
  /** Without it, only the gates that read nothing are evaluated. */
  readonly client?: Client | undefined;
  readonly ask: PipelineOptions['ask'];
  readonly mapping?: AuthorRightsOptions['mapping'];
  /** The Policies in force. */
  readonly policies?: PolicySource | undefined;
  readonly owners?: OwnerLookup | undefined;
  readonly reconcilers: readonly string[];
  /** Checks Policies and PolicyExceptions. */
  readonly policyGate?: PolicyCheck | undefined;
  /** Enables the CRD gate. */
  readonly crds?: CrdGateOptions | undefined;
  readonly comparers: Comparers;
  readonly crdMetrics?: ReturnType<typeof crdMetrics> | undefined;
  readonly asksAboutBreaking?: Parameters<typeof operatorsGate>[0]['asksAboutBreaking'];
  /** Whether the callers may be anyone on the network. */
  readonly untrusted: boolean;
  readonly log: Logger;
}

type PolicyCheck = (
  request: AdmissionRequest,
  deadline: Deadline,
  author: { readonly readsExisting: boolean },
) => Promise<Findings>;

export function asynchronousGates(options: AsynchronousGatesOptions): AsyncGate[] {
  const { client, ask, mapping, policies, owners, reconcilers, policyGate, crds, comparers } = options;
  const { asksAboutBreaking, untrusted, log } = options;
  return [
    gateForPolicies(authorRightsGate({ ask, mapping, policy: (name) => policyNamed(name, policies) }), policyGate),
    approvalVerbGate(ask),
    cleanupGate(ask),
    operatorsGate({ client, ask, asksAboutBreaking }),
    ...(client === undefined ? [] : [namespaceGate(client), inUseGate(client), secretsGate(client)]),
    namespaceLabelGate({ reconcilers, owners }),
    ...(crds === undefined
      ? []
      : [
          crdGate({
            ...crds,
            client: untrusted ? client && withoutStoredObjects(client) : client,
            ask,
            comparers,
            log,
            metrics: options.crdMetrics,
          }),
        ]),
  ];
}

const policyNamed = (name: string, policies: PolicySource | undefined): PolicyModel | undefined =>
  policies?.current().set.policies.find(({ model }) => model.kind === 'Policy' && model.name === name)?.model;

/** Builds the gate for written Policies and PolicyExceptions: the rights of their authors, then the objects. */
function gateForPolicies(authorRights: AsyncGate, evaluate: PolicyCheck | undefined): AsyncGate {
  const kinds: readonly string[] = [policyException.kind, policyKind.kind];
  return {
    name: 'policies',
    matches: ({ kind, operation, subResource }) =>
      kind.group === GROUP &&
      kinds.includes(kind.kind) &&
      subResource === undefined &&
      (operation === 'CREATE' || operation === 'UPDATE'),
    async evaluate(request, deadline) {
      const rights = authorRights.matches(request) ? await authorRights.evaluate(request, deadline) : nothing;
      if (evaluate === undefined) return rights;
      // The warnings about existing objects show what a policy finds out, also where it is denied.
      const found = await evaluate(request, deadline, { readsExisting: rights.violations.length === 0 });
      return { ...found, violations: [...rights.violations, ...found.violations] };
    },
  };
}

/** Refuses to read objects of other kinds, as if kidp had no right to: the CRD gate then decides without them. */
const withoutStoredObjects = (client: Client): Client => ({
  ...client,
  request: async () => ({ status: 403, headers: {}, warnings: [], text: '' }),
});
