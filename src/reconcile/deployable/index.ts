/**
 * What brokers bring about: Databases, Services, Caches, Topics and Secrets, from an admitted object to a message that is known to
 * have arrived, and from a report to the status of the object.
 *
 * In: a manager, a way to reach brokers (`Dispatcher`), the gate (admission's decision about an object as it is stored). Out: dispatched
 * deployments, status, events, and the sink that takes reports. It must not know how a message travels, nor how admission decides.
 */
import type { Registry } from 'prom-client';
import type { Kind } from '../../api/index.ts';
import type {
  Dispatcher,
  HeartbeatEvent,
  ReportOutcome,
  ReportSink,
  UsageEvent,
  VerifiedBroker,
} from '../../broker/index.ts';
import type { Clock, EventRecorder, Manager } from '../../runtime/index.ts';
import type { Admitted, Deployable, Settings } from './deployable.ts';

export type { Admitted, Deployable, DeployableStatus, Facts, Settings, Step } from './deployable.ts';
export { defaultSettings } from './deployable.ts';

export interface DeployableOptions {
  readonly dispatcher: Dispatcher;
  /** What admission says about an object as it is stored: `storedGate` of src/admission. */
  readonly gate: (kind: Kind, object: Deployable) => Promise<Admitted>;
  /** Calls back when the gate may answer otherwise than before; returns what ends it. */
  readonly gateChanges?: (listener: () => void) => () => void;
  readonly platform: {
    /** Where brokers post their reports; left out, they have Kafka only. */
    readonly statusUrl?: string;
    /** A public JSON Web Key that credentials are encrypted to. */
    readonly encryptionKey?: () =>
      | Readonly<Record<string, unknown>>
      | undefined
      | Promise<Readonly<Record<string, unknown>> | undefined>;
  };
  /** Opens credentials that a broker has encrypted to that key. */
  readonly decrypt?: (jwe: string) => Promise<Record<string, string>>;
  /** Where heartbeats and usage reports go: `brokerEvents` of src/reconcile/platform. */
  readonly events?: {
    heartbeat(event: HeartbeatEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
    usage(event: UsageEvent, from: VerifiedBroker, signal?: AbortSignal): Promise<ReportOutcome>;
  };
  readonly registry?: Registry;
  readonly recorder?: Pick<EventRecorder, 'record'>;
  readonly clock?: Clock;
  readonly settings?: Partial<Settings>;
  /** Objects of one kind that are worked on at a time. */
  readonly concurrency?: number;
}

export interface DeployableReconcilers {
  /** On every replica: it may take a report whether it leads or not. */
  readonly sink: ReportSink;
}
