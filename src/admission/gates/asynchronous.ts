/**
 * The asynchronous gates of the platform: those that read the cluster, ask the authorizer or compare in a worker thread.
 * The server and the fuzzer have them from here, so that each gate of the server is also fuzzed.
 */
import { GROUP, policyException, policy as policyKind } from '../../api/index.ts';
import type { Client, Logger } from '../../runtime/index.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import type { Findings } from '../review/findings.ts';
import { cleanupGate } from './cleanup.ts';
import { approvalVerbGate, type Comparers, type CrdGateOptions, crdGate, type crdMetrics } from './crds/index.ts';
import type { AsyncGate } from './gate.ts';
import { inUseGate } from './in-use.ts';
import { namespaceGate, namespaceLabelGate } from './namespaces/index.ts';
import { operatorsGate } from './operators/index.ts';
import type { OwnerLookup } from './ownership/owner-chain.ts';
import type { PipelineOptions } from './pipeline.ts';
import { secretReadersGate } from './policies/secret-readers.ts';
import { secretsGate } from './secrets.ts';

interface AsynchronousGatesOptions {
  /** Without it, only the gates that read nothing are evaluated. */
  readonly client?: Client | undefined;
  readonly ask: PipelineOptions['ask'];
  readonly owners?: OwnerLookup | undefined;
  readonly reconcilers: readonly string[];
  /** Checks Policies and PolicyExceptions. */
  readonly policyGate?: ((request: AdmissionRequest, deadline: Deadline) => Promise<Findings>) | undefined;
  /** Enables the CRD gate. */
  readonly crds?: CrdGateOptions | undefined;
  readonly comparers: Comparers;
  readonly crdMetrics?: ReturnType<typeof crdMetrics> | undefined;
  readonly asksAboutBreaking?: Parameters<typeof operatorsGate>[0]['asksAboutBreaking'];
  /** Whether the callers may be anyone on the network. */
  readonly untrusted: boolean;
  readonly log: Logger;
}

export function asynchronousGates(options: AsynchronousGatesOptions): AsyncGate[] {
  const { client, ask, owners, reconcilers, policyGate, crds, comparers, asksAboutBreaking, untrusted, log } = options;
  return [
    ...(policyGate === undefined ? [] : [gateForPolicies(policyGate)]),
    approvalVerbGate(ask),
    secretReadersGate(ask),
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

/** Builds the gate for written Policies and PolicyExceptions. */
function gateForPolicies(evaluate: NonNullable<AsynchronousGatesOptions['policyGate']>): AsyncGate {
  const kinds: readonly string[] = [policyKind.kind, policyException.kind];
  return {
    name: 'policies',
    matches: ({ kind, operation, subResource }) =>
      kind.group === GROUP &&
      kinds.includes(kind.kind) &&
      subResource === undefined &&
      (operation === 'CREATE' || operation === 'UPDATE'),
    evaluate,
  };
}

/** Refuses to read objects of other kinds, as if kidp had no right to: the CRD gate then decides without them. */
const withoutStoredObjects = (client: Client): Client => ({
  ...client,
  request: async () => ({ status: 403, headers: {}, warnings: [], text: '' }),
});
