/**
 * Compares two versions of a definition and checks the stored objects; it runs in the thread of comparison-pool.ts. The
 * input is text, because passing text to a thread is cheaper than passing objects.
 */
import {
  type Crd,
  type CrdIssue,
  compareCrds,
  readCrd,
  storedObjectsCheck,
  type Verdict,
} from '../../../crd-compat/index.ts';

export type Compared =
  | { readonly verdict: Verdict }
  /** One of the definitions cannot be read, so the change cannot be compared. */
  | { readonly unreadable: 'before' | 'after'; readonly issues: readonly CrdIssue[] };

/** The result for the objects that were checked so far. */
export interface StoredCount {
  readonly checked: number;
  readonly broken: number;
  /** The first objects that would break. */
  readonly first: readonly {
    readonly namespace?: string;
    readonly name: string;
    readonly reasons: readonly string[];
    readonly paths: readonly string[];
  }[];
}

export interface Page {
  /** The continue token of the next page; undefined for the last page. */
  readonly next: string | undefined;
  /** The number of objects after this page, if the API server reports it. */
  readonly remaining: number | undefined;
  readonly objects: number;
  readonly count: StoredCount;
}

export interface Comparison {
  /** Compares two definitions as JSON. Without `before` it is a creation, without `after` a deletion. */
  compare(before: string | undefined, after: string | undefined): Compared;
  /** Checks a list response of the API server. */
  add(list: string): Page;
}

interface ObjectList {
  readonly items?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly metadata?: { readonly continue?: string; readonly remainingItemCount?: number };
}

/** The number of objects that a denial lists. */
const mostNamed = 5;

export function startComparison(): Comparison {
  let check: ReturnType<typeof storedObjectsCheck> | undefined;
  let seen = 0;
  return {
    compare(before, after) {
      const [old, made] = [before, after].map((text) => (text === undefined ? undefined : readCrd(JSON.parse(text))));
      // Issues of the new definition come first, because only they can be fixed.
      if (made !== undefined && made.crd === undefined) return { unreadable: 'after', issues: made.issues };
      if (old !== undefined && old.crd === undefined) return { unreadable: 'before', issues: old.issues };
      const [from, to] = [old?.crd, made?.crd];
      check = from === undefined || to === undefined ? undefined : storedObjectsCheck(from, to);
      return { verdict: compareCrds(from, to, { witnesses: true, ...storedVersionsOf(from) }) };
    },
    add(list) {
      const { items, metadata = {} } = exactly(list) as ObjectList;
      for (const item of items ?? []) check?.add(item);
      seen += items?.length ?? 0;
      const result = check?.result() ?? { checked: seen, broken: 0, first: [] };
      return {
        next: metadata.continue === '' ? undefined : metadata.continue,
        remaining: metadata.remainingItemCount,
        objects: items?.length ?? 0,
        count: { ...result, first: result.first.slice(0, mostNamed) },
      };
    },
  };
}

/** An integer that may exceed the precision of a JavaScript number. A match inside a string only costs time. */
const LONG_INTEGER = /[[:,]\s*-?\d{16,}\s*[\]},]/;

/**
 * Parses JSON with exact integers up to 2^63, like the API server: a rule on a number above 2^53 must see that number.
 */
function exactly(text: string): unknown {
  return LONG_INTEGER.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
}

/** Numbers that exceed 64 bits are floating-point numbers, as in the API server. */
function exactInteger(_key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value;
  const integer = BigInt(source);
  return BigInt.asIntN(64, integer) === integer ? integer : value;
}

const storedVersionsOf = (crd: Crd | undefined) =>
  crd?.status?.storedVersions === undefined ? {} : { storedVersions: crd.status.storedVersions };
