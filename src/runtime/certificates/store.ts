/**
 * Where the certificates of all replicas are kept. Two places, each written whole and only over the version that was read:
 *
 * - the **material**: serving leaf with its key, the bundle of authorities and what part each plays. One write moves all of
 *   it, so no replica ever sees a leaf without the bundle that goes with it. Whoever only serves needs no more than this.
 * - the **keys** of the authorities, apart from it. Who reads a serving key can play our server until that leaf expires; who
 *   reads an authority's key, for as long as any bundle trusts it. Losing the keys loses nothing: an authority without a key
 *   is replaced in the orderly way, and that makes deleting them the way to force a rotation.
 */
import type { KeyPair } from './issue.ts';

/** Fingerprints name the role of each authority in the bundle; one that is neither signing nor next is retired. */
export interface Material {
  /** Of the bundle: grows whenever that changes. A consumer that holds a later bundle refuses an earlier one by it. */
  readonly generation: number;
  readonly leaf: KeyPair;
  /** Every authority that clients shall trust, PEM. */
  readonly bundle: readonly string[];
  /** The one that signed the leaf. */
  readonly signing: string;
  /** Trusted already, and the one to sign once every consumer trusts it. */
  readonly next?: string;
}

export interface Versioned<T> {
  /** Undefined where there is nothing, or nothing that can be used. */
  readonly value: T | undefined;
  /** What a write must be based on; undefined where there is nothing to write over. */
  readonly version: string | undefined;
  /** Why what is stored cannot be used. */
  readonly problem?: string;
}

/** What a replica says of itself. */
export interface ReplicaReport {
  readonly identity: string;
  /** Fingerprint of the authority that signed the leaf it serves; undefined before it serves any. */
  readonly serves: string | undefined;
  /** Changes with every report: a replica whose beat stands still is gone. */
  readonly beat: string;
}

/** `conflict`: somebody else has written since; read again. */
export type WriteResult = 'written' | 'conflict';

export interface CertificateStore {
  readMaterial(): Promise<Versioned<Material>>;
  writeMaterial(material: Material, version: string | undefined): Promise<WriteResult>;
  /** Authorities with their keys; entries that cannot be used are left out. */
  readKeys(): Promise<Versioned<readonly KeyPair[]>>;
  writeKeys(keys: readonly KeyPair[], version: string | undefined): Promise<WriteResult>;
  /** Says what this replica serves, and that it is alive. */
  report(identity: string, serves: string | undefined): Promise<void>;
  readReports(): Promise<readonly ReplicaReport[]>;
  /** Deletes the report of a replica that no longer serves. */
  removeReport(identity: string): Promise<void>;
}
