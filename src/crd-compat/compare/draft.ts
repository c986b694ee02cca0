/**
 * A change as the comparison first notes it: its class if an object shows the change, its class if none does, and where
 * to search for such an object. witness.ts turns it into the final `Change`.
 */
import type { ChangeKind } from '../kinds.ts';
import type { CrdSchema } from '../schema.ts';
import type { ChangeClass, Witness } from '../verdict.ts';

/** A step from the root of a concrete object: a field, the first item of a list, or one value of a map. */
export type Step = string | number;

/** The place in an object that the comparison is at. */
export interface Place {
  /** The path, such as `.spec.template.items[].image`; `.` at the root. */
  readonly path: string;
  readonly steps: readonly Step[];
  /**
   * Whether the place is inside a list whose items have no keys. If one item changes, the API server validates all of
   * them again, so that ratcheting does not exempt the unchanged ones.
   */
  readonly unkeyed: boolean;
  /** Whether a surrounding schema depends on which fields are present: through a limit, a rule, or alternatives. */
  readonly minded: boolean;
  /** Whether the surrounding object always had to have this field. */
  readonly required: boolean;
  /** Whether the place is inside a status subresource, which controllers write and manifests do not. */
  readonly status: boolean;
}

/** The key that stands for any key of a map in examples. */
const MAP_KEY = 'key1';

export const ROOT: Place = { path: '.', steps: [], unkeyed: false, minded: false, required: false, status: false };

export const fieldOf = (place: Place, field: string, required = false): Place => ({
  ...place,
  required,
  path: `${place.path === '.' ? '' : place.path}.${field}`,
  steps: [...place.steps, field],
});

export const itemsOf = (place: Place, keyed: boolean): Place => ({
  ...place,
  path: `${place.path}[]`,
  steps: [...place.steps, 0],
  required: false,
  unkeyed: place.unkeyed || !keyed,
});

export const valuesOf = (place: Place): Place => ({
  ...place,
  path: `${place.path}.*`,
  steps: [...place.steps, MAP_KEY],
  required: false,
});

/** Where to search for an object that shows a change. */
export interface Probe {
  readonly steps: readonly Step[];
  /** Values to try there, the most instructive first. */
  readonly values?: readonly unknown[];
  /** A schema that the value must violate. Without it and without `values`, any object with a value there suffices. */
  readonly failing?: CrdSchema;
  /**
   * Whether the values are known to be accepted before the change and not after it: only the rest of the object is to
   * be found.
   */
  readonly certain?: boolean;
  /** Whether an object that shows the change is too large to generate. */
  readonly large?: boolean;
  /** A rule that the value must violate. */
  readonly rule?: string;
  /** Whether only the values are tried for the rule, not all the objects that it might refuse. */
  readonly brief?: boolean;
  /** Whether the change shows in an update that leaves the value unchanged. */
  readonly updated?: boolean;
  /** Updates of the value that were accepted and are refused now, if one of them shows the change. */
  readonly updates?: readonly { readonly from: unknown; readonly to: unknown }[];
  /** A field that must be absent from the object there. */
  readonly absent?: string;
  /** Whether the change shows in a create without status: the API server drops status if it is a subresource. */
  readonly withoutStatus?: boolean;
  /** The effect that counts: the object is refused, or a part of it is pruned or reads back with another value. */
  readonly expect: 'refused' | 'pruned' | 'changed';
}

export interface Classes {
  readonly storedObjects: ChangeClass;
  readonly manifests: ChangeClass;
}

export interface Draft extends Classes {
  readonly version: string;
  readonly path: string;
  readonly kind: ChangeKind;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly message: string;
  readonly hits?: string;
  readonly advice?: string;
  readonly decidedBy?: 'acceptance' | 'syntax';
  readonly witness?: Witness;
  readonly probe?: Probe;
  /** The classes if the probe finds nothing. Absent if the change is decided without a probe. */
  readonly otherwise?: Classes & { readonly decidedBy: 'acceptance' | 'syntax' };
}

export const SAFE: Classes = { storedObjects: 'safe', manifests: 'safe' };
export const RISKY: Classes = { storedObjects: 'risky', manifests: 'risky' };
export const BREAKING: Classes = { storedObjects: 'breaking', manifests: 'breaking' };

/**
 * `refused` returns the classes for a value that is no longer accepted. Kubernetes 1.36 accepts updates that leave an
 * invalid value unchanged (ratcheting). So a stored object breaks only if a change beside the value makes the API
 * server validate it again: in a list without keys, or if the constraint is on the surrounding object.
 */
export const refused = (place: Place, of: 'value' | 'object'): Classes => ({
  storedObjects: of === 'object' || place.unkeyed ? 'breaking' : 'safe',
  manifests: 'breaking',
});

/** The extent of a comparison: everything, or only the changes that affect how stored objects are read. */
export type Scope = 'all' | 'reading';

/** Collects the drafts of one version. */
export class Notes {
  readonly drafts: Draft[] = [];
  readonly version: string;
  readonly scope: Scope;

  constructor(version: string, scope: Scope = 'all') {
    this.version = version;
    this.scope = scope;
  }

  add(place: Place | string, draft: Omit<Draft, 'version' | 'path'>): void {
    this.drafts.push({ version: this.version, path: typeof place === 'string' ? place : place.path, ...draft });
  }
}
