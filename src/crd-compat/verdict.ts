/**
 * What the comparison of two CustomResourceDefinitions comes to. The fields of a verdict are what `kidp crd diff -o json` prints and
 * what the admission gate answers with, so their names are kept.
 */
import type { ChangeKind } from './kinds.ts';

/** `risky`: nothing is known to break, and nothing shows that it cannot. */
export type ChangeClass = 'breaking' | 'risky' | 'safe';

export type Json = Readonly<Record<string, unknown>>;

export interface Change {
  /** The version of the CRD that is changed; empty where the change is of the whole definition. */
  readonly version: string;
  /** In the object, such as `.spec.template.items[].image`; in the definition where it is no field, such as `spec.scope`. */
  readonly path: string;
  readonly kind: ChangeKind;
  /** The worse of `storedObjects` and `manifests`. */
  readonly class: ChangeClass;
  /** What was there, as JSON; left out where there was nothing. */
  readonly before?: unknown;
  readonly after?: unknown;
  /** Will an object that is in etcd now still be read, updated and served unchanged? */
  readonly storedObjects: ChangeClass;
  /** Will a manifest that applied yesterday apply today, and mean the same? */
  readonly manifests: ChangeClass;
  /** One sentence: what is different. */
  readonly message: string;
  /** Who is hit, in words: "objects with .spec.size over 10". Empty where nobody is. */
  readonly hits: string;
  /** What to do instead; empty where there is nothing to do. */
  readonly advice: string;
  /** Whether it was decided by what the schemas accept, or by how they are written because that could not be decided. */
  readonly decidedBy: 'acceptance' | 'syntax';
  /** A concrete case that shows a breaking change. */
  readonly witness?: Witness;
}

/** What the API server does with a witness once the change is made. */
export type WitnessOutcome =
  /** It is created before the change; after it, the same manifest is refused on a create. */
  | 'refused'
  /** As stored, the same object is refused on an update that changes an unrelated field. */
  | 'update-refused'
  /** It is accepted or read, and fields are gone. */
  | 'pruned'
  /** It is accepted or read, and fields have another value: a changed default, another scope or conversion. */
  | 'changed'
  /** The request itself fails: no such version, kind, short name or subresource. */
  | 'request-fails';

export interface Witness {
  readonly outcome: WitnessOutcome;
  /** A whole object, valid before the change. */
  readonly object?: Json;
  /** The request, such as `GET /apis/example.com/v1/widgets`, where no object shows it. */
  readonly request?: string;
  /** Path in the object that shows it. */
  readonly path?: string;
  /** In words, such as `.spec.size: 11 is more than the maximum 10`. */
  readonly because: string;
}

export interface Verdict {
  /** Name of the definition, such as `widgets.example.com`. */
  readonly name: string;
  /** The worst class of its changes. */
  readonly verdict: ChangeClass;
  /** In a fixed order: same input, same output, byte for byte. */
  readonly changes: readonly Change[];
  /** Of exactly this change, `sha256:…`; it does not depend on metadata, status, or the order of keys. */
  readonly digest: string;
}

const order: Readonly<Record<ChangeClass, number>> = { safe: 0, risky: 1, breaking: 2 };

export const worse = (left: ChangeClass, right: ChangeClass): ChangeClass =>
  order[left] >= order[right] ? left : right;

export const worst = (classes: Iterable<ChangeClass>): ChangeClass => [...classes].reduce(worse, 'safe');
