/** `ReportSink` receives verified reports. Reconcilers implement it; the Kafka consumer and the status API call it. */
import type { ChannelName } from './channel.ts';
import type { BrokerEvent, StatusEvent } from './messages.ts';

/** A broker whose signature or token was verified. */
export interface VerifiedBroker {
  /** The name of the Broker object. */
  readonly name: string;
  readonly channel: ChannelName;
  readonly keyId?: string;
}

/** The outcome of a report. `duplicate` and `stale` change nothing and are not errors. */
export type ReportOutcome = (
  | { readonly result: 'applied' | 'duplicate' | 'stale' }
  | {
      readonly result: 'refused';
      /**
       * `unknown-object`: the object does not exist, or has another uid. `wrong-broker`: the target of the object uses
       * another broker. `unknown-deployment`: the deployment was never dispatched.
       */
      readonly code: 'unknown-object' | 'wrong-broker' | 'unknown-deployment' | 'invalid';
      readonly message: string;
    }
) & {
  /** The phase of the object before and after the report, for the audit log. */
  readonly before?: string;
  readonly after?: string;
};

export interface ReportSink {
  /** Rejects only if a retry may help (the API server is unavailable): the report must then be redelivered. */
  receive(event: BrokerEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
  /**
   * Records a report that will not be redelivered because its sender could not be verified (`reason`). The content is
   * not trusted; it only means that a report of the broker may be missing. Rejects like `receive`.
   */
  recordMissed?(event: StatusEvent, reason: string, signal?: AbortSignal): Promise<void>;
}
