/**
 * What the shell asks of whoever can bring things about: a provider. The shell knows messages, order and reports; a provider knows
 * one kind of infrastructure, and where records are kept beside the things they are about.
 */
import type { ErrorClass } from '../messages.ts';
import type { DeploymentRecord, Report } from './record.ts';

export interface Provider {
  /** `Database/postgresql`, `Topic` …, as in a Broker's `spec.capabilities`. */
  readonly capabilities: readonly string[];
  readonly records: RecordStore;
  readonly leadership: Leadership;
  /** Begins to follow the things that were made. `changed` is told of each object (by uid) that something happened to. */
  start(changed: (uid: string) => void): Promise<void>;
  /**
   * What has to be written down before anything is made or removed, such as what was taken over from other brokers
   * (`request.formerBrokers`); undefined where nothing has. Rejects as `bring` does.
   */
  prepare?(record: DeploymentRecord): Promise<Readonly<Record<string, string>> | undefined>;
  /**
   * Brings about what the record asks for, or goes on with it: it may be called again for the same record, also where an earlier
   * call was cut short anywhere. Rejects with a `ProviderFailure` where it cannot be done; any other rejection is tried again.
   */
  apply(record: DeploymentRecord): Promise<ProviderState>;
  /** How what was brought about fares. Changes nothing but what falls due by itself, such as new credentials. */
  observe(record: DeploymentRecord): Promise<ProviderState>;
  /** Has it removed. `gone` only once nothing of it is left. */
  remove(record: DeploymentRecord): Promise<Removal>;
  /** Address and credentials as they are now, to be encrypted; or where they lie, if that is in the management cluster. */
  credentials(record: DeploymentRecord): Promise<Credentials | undefined>;
  stop(): Promise<void>;
}

export interface ProviderState {
  readonly report: Report;
  readonly notes?: Readonly<Record<string, string>>;
  /** Look again then, even where nothing changes. */
  readonly requeueAfterMilliseconds?: number;
}

export type Removal =
  | { readonly gone: true }
  | { readonly gone: false; readonly message: string; readonly requeueAfterMilliseconds: number };

export type Credentials =
  | { readonly revision: string; readonly values: Readonly<Record<string, string>> }
  | { readonly revision: string; readonly secretRef: { readonly namespace: string; readonly name: string } };

/** What was asked for cannot be done. `message` says to the user why, and what to do. */
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

/** To be taken over, and not to be seen: whether something was made, and where, only those know who had it. */
export const formerNotVisible = (formers: readonly string[], what: string): ProviderFailure =>
  permanent(
    'former-unseen',
    `what Broker ${formers.join(' and ')} has made for it cannot be seen here (${what}), so it is neither made anew nor called gone: let the DeploymentTarget name that Broker again and take it over from this one; where nothing was made, delete the object with abandon-cleanup and create it anew`,
  );

export interface StoredRecord {
  readonly record: DeploymentRecord;
  /** Changes with every write. */
  readonly version: string;
}

export interface RecordStore {
  /** Up to date: what was written by any instance before the call is seen. */
  get(uid: string): Promise<StoredRecord | undefined>;
  /** As far as this instance has heard; for work that is repeated when it hears more. */
  known(uid: string): StoredRecord | undefined;
  all(): Iterable<StoredRecord>;
  /** Writes over this version, or where there is none yet (undefined). Resolves to undefined where someone else was faster. */
  put(record: DeploymentRecord, over: string | undefined): Promise<StoredRecord | undefined>;
  /** Forgets a record, if it is still this version. */
  drop(uid: string, version: string): Promise<void>;
  /** Told of each record that is there or comes, whoever wrote it. Returns what ends it. */
  subscribe(changed: (uid: string) => void): () => void;
}

/** Of several instances of a broker one works at a time; the others are there to take over. */
export interface Leadership {
  /** Whether only the leader may write records: then only the leader takes requests. */
  readonly exclusive: boolean;
  readonly isLeader: boolean;
  /** Resolves once this instance leads; rejects where the signal ends it. */
  acquire(signal: AbortSignal): Promise<void>;
  /** Aborted when the right to work is lost: the process is to end and to be started anew. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** This instance does not lead, and its store takes writes of the leader only. */
export class NotLeader extends Error {
  readonly code = 'broker/not-leading';

  constructor() {
    super('another instance of this broker leads: send it there, or again in a moment');
    this.name = 'NotLeading';
  }
}
