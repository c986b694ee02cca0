/**
 * The store for the certificates of all replicas. It has two documents, each written as a whole and only over the
 * version that was read:
 * - the **material**: the serving leaf with its key, the bundle of authorities and the role of each. One write replaces
 *   all of it, so no replica ever sees a leaf without its bundle. A process that only serves needs nothing else.
 * - the **keys** of the authorities. They are separate because a leaked serving key allows impersonation of the server
 *   until that leaf expires, but a leaked authority key for as long as any bundle trusts the authority. Lost keys do no
 *   harm: an authority without a key is replaced by a regular rotation, so deleting the keys is the way to force one.
 */
import type { KeyPair } from './issue.ts';

/**
 * Fingerprints give the role of each authority in the bundle; an authority that is neither signing nor next is retired.
 */
export interface Material {
  /** The generation of the bundle, which increases with every change. Consumers use it to reject an earlier bundle. */
  readonly generation: number;
  readonly leaf: KeyPair;
  /** Every authority that clients must trust, in PEM. */
  readonly bundle: readonly string[];
  /** The authority that signed the leaf. */
  readonly signing: string;
  /** The authority that will sign once every consumer trusts it. It is already in the bundle. */
  readonly next?: string;
}

export interface Versioned<T> {
  /** Undefined if nothing usable is stored. */
  readonly value: T | undefined;
  /** The version that a write must replace; undefined if nothing is stored. */
  readonly version: string | undefined;
  /** The reason why the stored value is unusable. */
  readonly problem?: string;
}

/** The report of a replica about itself. */
export interface ReplicaReport {
  readonly identity: string;
  /** The fingerprint of the authority that signed the served leaf; undefined while the replica serves none. */
  readonly serves: string | undefined;
  /** Changes with every report: a replica whose beat does not change is gone. */
  readonly beat: string;
}

/** `conflict` means that another writer was faster; read again. */
export type WriteResult = 'written' | 'conflict';

export interface CertificateStore {
  readMaterial(): Promise<Versioned<Material>>;
  writeMaterial(material: Material, version: string | undefined): Promise<WriteResult>;
  /** Reads the authorities with their keys. Unusable entries are omitted. */
  readKeys(): Promise<Versioned<readonly KeyPair[]>>;
  writeKeys(keys: readonly KeyPair[], version: string | undefined): Promise<WriteResult>;
  /** Reports that this replica is alive, and the authority that it serves. */
  report(identity: string, serves: string | undefined): Promise<void>;
  readReports(): Promise<readonly ReplicaReport[]>;
  /** Deletes the report of a replica that no longer serves. */
  removeReport(identity: string): Promise<void>;
}
