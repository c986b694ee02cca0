/** The interfaces of a gate: a function from a request to its findings, with or without lookups. */
import type { JsonPatchOperation } from '../../policy/index.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest, Json } from '../review/decode.ts';
import type { Findings } from '../review/findings.ts';
import { type OwnerChain, unknownChain } from './ownership/owner-chain.ts';

/**
 * `mutate`: the API server has not yet looked at the schema, and asks again when others have changed the object. `mutate-once`: the
 * mutations of Policies that may not be asked again, and nothing else. `validate`: the object as it will be stored.
 */
export type Phase = 'mutate' | 'mutate-once' | 'validate';

/** What a gate may know besides the request: found out before it is asked, so that it stays a function of values. */
export interface Facts {
  readonly chain: OwnerChain;
  /** The users that the platform's own reconcilers are. */
  readonly reconcilers: readonly string[];
  /** False where nothing is dispatched: nobody would ever take the finalizer off. */
  readonly dispatches?: boolean | undefined;
}

/** Where there is no cluster to ask. */
export const noFacts: Facts = { chain: unknownChain, reconcilers: [] };

export interface Gate {
  readonly name: string;
  evaluate(request: AdmissionRequest, facts: Facts): Findings;
}

/** A gate that may have to look something up. */
export interface AsyncGate {
  readonly name: string;
  /** Asked of every request: cheap. */
  matches(request: AdmissionRequest): boolean;
  evaluate(request: AdmissionRequest, deadline: Deadline): Promise<Findings>;
}

export interface PlatformMutation {
  readonly object: Json;
  readonly patches: readonly JsonPatchOperation[];
  /** What was taken out, for who has written it. */
  readonly warnings: readonly string[];
}
