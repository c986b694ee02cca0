/** Where reports go once it is known who made them. Reconcilers implement it; the Kafka consumer and the status API call it. */
import type { ChannelName } from './channel.ts';
import type { BrokerEvent, StatusEvent } from './messages.ts';

/** Whose signature or token was checked. */
export interface VerifiedBroker {
  /** Of the Broker object. */
  readonly name: string;
  readonly channel: ChannelName;
  readonly keyId?: string;
}

/** `duplicate` and `stale` change nothing and are no fault. */
export type ReportOutcome = (
  | { readonly result: 'applied' | 'duplicate' | 'stale' }
  | {
      readonly result: 'refused';
      /** `unknown-object`: no such object, or another one of that name. `wrong-broker`: it is not of a target of this broker. `unknown-deployment`: never dispatched. */
      readonly code: 'unknown-object' | 'wrong-broker' | 'unknown-deployment' | 'invalid';
      readonly message: string;
    }
) & {
  /** For the audit line of the report: the phase of the object before it and after. */
  readonly before?: string;
  readonly after?: string;
};

export interface ReportSink {
  /** Rejects only where trying again may help (no API server): the report must then be delivered again. */
  receive(event: BrokerEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
  /**
   * A report that nobody will deliver again, since it was not known who made it (`reason`). Anybody may have: nothing in it is to be
   * believed, but that word of the broker may be missing. Rejects as `take` does.
   */
  recordMissed?(event: StatusEvent, reason: string, signal?: AbortSignal): Promise<void>;
}
