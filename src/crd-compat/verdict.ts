/**
 * The result of comparing two CustomResourceDefinitions. `kidp crd diff -o json` prints these fields and the admission
 * gate returns them, so their names are stable.
 */
import type { ChangeKind } from './kinds.ts';

/** `risky` means: nothing is known to break, but nothing proves that it cannot. */
export type ChangeClass = 'breaking' | 'risky' | 'safe';

export type Json = Readonly<Record<string, unknown>>;

export interface Change {
  /** The version of the CRD that changed; empty if the change concerns the whole definition. */
  readonly version: string;
  /**
   * A path in the object, such as `.spec.template.items[].image`. A change that concerns no field has its path in the
   * definition, such as `spec.scope`.
   */
  readonly path: string;
  readonly kind: ChangeKind;
  /** The worse of `storedObjects` and `manifests`. */
  readonly class: ChangeClass;
  /** The old value as JSON; absent if there was none. */
  readonly before?: unknown;
  readonly after?: unknown;
  /** Whether an object that is stored in etcd is still read, updated and served unchanged. */
  readonly storedObjects: ChangeClass;
  /** Whether a manifest that applied before the change still applies and means the same. */
  readonly manifests: ChangeClass;
  /** One sentence that says what changed. */
  readonly message: string;
  /** The affected objects or clients, such as "objects with .spec.size over 10"; empty if there are none. */
  readonly hits: string;
  /** What to do instead; empty if nothing needs to be done. */
  readonly advice: string;
  /**
   * Whether the class follows from the values that the schemas accept, or only from how the schemas are written because
   * the values could not be decided.
   */
  readonly decidedBy: 'acceptance' | 'syntax';
  /** A concrete case that shows a breaking change, or a risky one if there is one. */
  readonly witness?: Witness;
}

/** The effect of a change on its witness, as the API server shows it. */
export type WitnessOutcome =
  /** The manifest is accepted before the change and refused on a create after it. */
  | 'refused'
  /** The stored object is refused on an update: to `update`, or of an unrelated field. */
  | 'update-refused'
  /** The object is accepted or read, and fields are missing. */
  | 'pruned'
  /** The object is accepted or read, and fields have another value: a changed default, scope or conversion. */
  | 'changed'
  /** The request itself fails: there is no such version, kind, short name or subresource. */
  | 'request-fails';

export interface Witness {
  readonly outcome: WitnessOutcome;
  /** A whole object that is valid before the change; with a version or a field that is new, after it. */
  readonly object?: Json;
  /** The version that a client reads the object through, and writes it back, if that shows the change. */
  readonly through?: string;
  /** The object that `object` is updated to, if the update shows the change. */
  readonly update?: Json;
  /** The request, such as `GET /apis/example.com/v1/widgets`, if no object shows the change. */
  readonly request?: string;
  /** The path in the object that shows the change. */
  readonly path?: string;
  /** The reason, such as `.spec.size: 11 is more than the maximum 10`. */
  readonly because: string;
}

export interface Verdict {
  /** The name of the definition, such as `widgets.example.com`. */
  readonly name: string;
  /** The worst class of all changes. */
  readonly verdict: ChangeClass;
  /** The changes in a fixed order: the same input gives the same output, byte for byte. */
  readonly changes: readonly Change[];
  /** The digest of exactly this change, `sha256:…`. It does not depend on metadata, status or the order of keys. */
  readonly digest: string;
}

const order: Readonly<Record<ChangeClass, number>> = { safe: 0, risky: 1, breaking: 2 };

export const worse = (left: ChangeClass, right: ChangeClass): ChangeClass =>
  order[left] >= order[right] ? left : right;

export const worst = (classes: Iterable<ChangeClass>): ChangeClass => [...classes].reduce(worse, 'safe');
