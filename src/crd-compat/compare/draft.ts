/**
 * A change as the comparison first notes it: what would be said if it can be shown, what if it cannot, and where to look for an object
 * that shows it. witness.ts makes the final `Change` of it.
 */
import type { ChangeKind } from '../kinds.ts';
import type { CrdSchema } from '../schema.ts';
import type { ChangeClass, Witness } from '../verdict.ts';

/** From the root of a concrete object: a field, the first item of a list, one value of a map. */
export type Step = string | number;

/** Where in an object the comparison is. */
export interface Place {
  /** Such as `.spec.template.items[].image`; `.` at the root. */
  readonly path: string;
  readonly steps: readonly Step[];
  /**
   * Below a list whose items have no identity: when one item changes, the API server validates all of them again, so that ratcheting
   * does not spare the ones that stayed.
   */
  readonly unkeyed: boolean;
  /** Something around it may mind which fields there are: a number of them, a rule, one of several. */
  readonly minded: boolean;
  /** A field that the object around it has always had to have. */
  readonly required: boolean;
  /** Below a status that is a subresource: left out of what a manifest says, written by controllers. */
  readonly status: boolean;
}

/** What maps of any name are shown with. */
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

/** Where to look for an object that shows a change. */
export interface Probe {
  readonly steps: readonly Step[];
  /** Values to try there, the most instructive first. */
  readonly values?: readonly unknown[];
  /** What a value there has to fail. Without it and without values, any object that has something there will do. */
  readonly failing?: CrdSchema;
  /** Whether the values are known to be accepted there before, and not after: only the object around them is to be found. */
  readonly certain?: boolean;
  /** What would show it is too large to be made. */
  readonly large?: boolean;
  /** A rule that a value there has to fail. */
  readonly rule?: string;
  /** Whether it shows when the object is updated and the value stays. */
  readonly updated?: boolean;
  /** A field of the object there that is left out. */
  readonly absent?: string;
  /** Whether it shows when the object is created and its status is left out, as the API server does where that is a subresource. */
  readonly withoutStatus?: boolean;
  /** What counts as shown: the object is refused, or something in it is pruned or reads back with another value. */
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
  /** What holds when the probe shows nothing. Left out where the change is decided without it. */
  readonly otherwise?: Classes & { readonly decidedBy: 'acceptance' | 'syntax' };
}

export const SAFE: Classes = { storedObjects: 'safe', manifests: 'safe' };
export const RISKY: Classes = { storedObjects: 'risky', manifests: 'risky' };
export const BREAKING: Classes = { storedObjects: 'breaking', manifests: 'breaking' };

/**
 * What a value that is no longer accepted comes to. On an update Kubernetes 1.36 lets values pass that did not change (ratcheting), so a
 * stored object suffers only where a change beside the value makes it be checked again: in a list without keys, or where the demand is
 * on the object around it.
 */
export const refused = (place: Place, of: 'value' | 'object'): Classes => ({
  storedObjects: of === 'object' || place.unkeyed ? 'breaking' : 'safe',
  manifests: 'breaking',
});

/** What is looked at: all of it, or only what decides how objects are read, whether they are still accepted or not. */
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
