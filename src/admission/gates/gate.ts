/** The interfaces of a gate: a function from a request to its findings, with or without lookups. */
import type { JsonPatchOperation } from '../../policy/index.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import type { Findings } from '../review/findings.ts';
import type { HostFacts } from './hosts/lookup.ts';
import { type OwnerChain, unknownChain } from './ownership/owner-chain.ts';

/**
 * The phase of a call. `mutate`: before schema validation; the API server calls again if another webhook changes the
 * object. `mutate-once`: only the mutations of Policies that must not be reinvoked. `validate`: the object as it will
 * be stored.
 */
export type Phase = 'mutate' | 'mutate-once' | 'validate';

/**
 * The facts that a gate can use besides the request. They are looked up in advance, so that a gate is a function of
 * values.
 */
export interface Facts {
  readonly chain: OwnerChain;
  /** The users of the platform's own reconcilers. */
  readonly reconcilers: readonly string[];
  /** False if nothing is dispatched to brokers: no reconciler would ever remove the finalizer. */
  readonly dispatches?: boolean | undefined;
  /** Undefined for a request without hosts, and without a cluster. */
  readonly hosts?: HostFacts | undefined;
  /** Whether the caller may be anyone on the network: patches then hold only what the request holds. */
  readonly untrusted?: boolean | undefined;
}

/** The facts without a cluster. */
export const noFacts: Facts = { chain: unknownChain, reconcilers: [] };

export interface Gate {
  readonly name: string;
  evaluate(request: AdmissionRequest, facts: Facts): Findings;
}

/** A gate that may perform lookups. */
export interface AsyncGate {
  readonly name: string;
  /** Reports whether the gate applies. It is called for every request and must be cheap. */
  matches(request: AdmissionRequest): boolean;
  evaluate(request: AdmissionRequest, deadline: Deadline): Promise<Findings>;
}

export interface PlatformMutation {
  readonly object: Json;
  readonly patches: readonly JsonPatchOperation[];
  /** Warnings about removed fields. */
  readonly warnings: readonly string[];
}
