/**
 * The interface between the shell of a broker and its provider. The shell knows messages, order and reports; a provider
 * knows one kind of infrastructure, and keeps the records next to the deployments.
 */
import type { ErrorClass } from '../messages.ts';
import type { DeploymentRecord, Report } from './record.ts';

export interface Provider {
  /** The supported kinds, such as `Database/postgresql` or `Topic`, as in `spec.capabilities` of a Broker. */
  readonly capabilities: readonly string[];
  readonly records: RecordStore;
  readonly leadership: Leadership;
  /** Starts watching the deployments. `changed` is called with the uid of each object whose deployment changed. */
  start(changed: (uid: string) => void): Promise<void>;
  /**
   * Returns notes to store before anything is created or removed, such as what was taken over from other brokers
   * (`request.formerBrokers`); undefined if there are none. Rejects like `apply`.
   */
  prepare?(record: DeploymentRecord): Promise<Readonly<Record<string, string>> | undefined>;
  /**
   * Carries out the request of a record, or continues with it: it may be called again for the same record, even if an
   * earlier call was interrupted anywhere. Rejects with a `ProviderFailure` if the request cannot be carried out; any
   * other rejection is retried.
   */
  apply(record: DeploymentRecord): Promise<ProviderState>;
  /** Returns the current state of a deployment. It changes only what falls due automatically, such as credentials. */
  observe(record: DeploymentRecord): Promise<ProviderState>;
  /** Removes a deployment. `gone` is true only once nothing is left. */
  remove(record: DeploymentRecord): Promise<Removal>;
  /** The current address and credentials, to be encrypted; or a reference to them in the management cluster. */
  credentials(record: DeploymentRecord): Promise<Credentials | undefined>;
  stop(): Promise<void>;
}

export interface ProviderState {
  readonly report: Report;
  readonly notes?: Readonly<Record<string, string>>;
  /** Observe again after this time, even if nothing changes. */
  readonly requeueAfterMilliseconds?: number;
}

export type Removal =
  | { readonly gone: true }
  | { readonly gone: false; readonly message: string; readonly requeueAfterMilliseconds: number };

export type Credentials =
  | { readonly revision: string; readonly values: Readonly<Record<string, string>> }
  | { readonly revision: string; readonly secretRef: { readonly namespace: string; readonly name: string } };

/** A request that cannot be carried out. `message` explains to the user why and what to do. */
export class ProviderFailure extends Error {
  readonly class: ErrorClass;
  readonly code: string;

  constructor(failure: { class: ErrorClass; code: string; message: string; cause?: unknown }) {
    super(failure.message, { cause: failure.cause });
    this.name = 'ProviderFailure';
    this.class = failure.class;
    this.code = failure.code;
  }
}

export const permanent = (code: string, message: string): ProviderFailure =>
  new ProviderFailure({ class: 'permanent', code, message });

/**
 * The failure of a takeover from a broker whose deployments are not visible here: only that broker knows whether and
 * where it created something.
 */
export const formerNotVisible = (formers: readonly string[], what: string): ProviderFailure =>
  permanent(
    'former-unseen',
    `deployments of Broker ${formers.join(' and ')} are not visible here (${what}), so nothing is created or reported as deleted. Let the DeploymentTarget name that Broker again; if it never deployed the object, delete the object with abandon-cleanup and create it again`,
  );

export interface StoredRecord {
  readonly record: DeploymentRecord;
  /** Changes with every write. */
  readonly version: string;
}

export interface RecordStore {
  /** Reads the current record, including writes of other instances before the call. */
  get(uid: string): Promise<StoredRecord | undefined>;
  /** Reads the record as far as this instance knows it, for work that is repeated when it changes. */
  known(uid: string): StoredRecord | undefined;
  all(): Iterable<StoredRecord>;
  /** Writes over this version, or creates the record (undefined). Resolves to undefined if another write was faster. */
  put(record: DeploymentRecord, over: string | undefined): Promise<StoredRecord | undefined>;
  /** Deletes a record if it still has this version. */
  drop(uid: string, version: string): Promise<void>;
  /**
   * Calls `changed` for each existing, new or changed record, whoever wrote it. Returns the function that unsubscribes.
   */
  subscribe(changed: (uid: string) => void): () => void;
}

/** Of several instances of a broker one is the leader; the others are standbys. */
export interface Leadership {
  /** Whether only the leader may write records: then only the leader receives requests. */
  readonly exclusive: boolean;
  readonly isLeader: boolean;
  /** Resolves once this instance is the leader; rejects if the signal is aborted. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Aborted when leadership is lost: the process must end and be restarted. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** This instance is not the leader, and its store accepts writes of the leader only. */
export class NotLeader extends Error {
  readonly code = 'broker/not-leading';

  constructor() {
    super('another instance of this broker is the leader: send the request there, or retry');
    this.name = 'NotLeading';
  }
}
