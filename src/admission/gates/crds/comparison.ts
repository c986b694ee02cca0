/**
 * One definition compared with another, and the objects that are stored: what the thread of comparers.ts does. Text comes in, because
 * to hand texts to a thread costs little and to hand objects to it does not.
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
  /** One of the two cannot be read, so that nothing can be said about the change. */
  | { readonly unreadable: 'before' | 'after'; readonly issues: readonly CrdIssue[] };

/** What has become of the objects that were looked at so far. */
export interface StoredCount {
  readonly checked: number;
  readonly broken: number;
  /** Some of those that would break. */
  readonly first: readonly {
    readonly namespace?: string;
    readonly name: string;
    readonly reasons: readonly string[];
  }[];
}

export interface Page {
  /** Where the next page begins; undefined: this was the last one. */
  readonly next: string | undefined;
  /** How many objects come after this page, as far as the API server says so. */
  readonly remaining: number | undefined;
  readonly objects: number;
  readonly count: StoredCount;
}

export interface Comparison {
  /** JSON of the definitions; without `before` it is a creation, without `after` a deletion. */
  compare(before: string | undefined, after: string | undefined): Compared;
  /** A list as the API server answers it. */
  add(list: string): Page;
}

interface ObjectList {
  readonly items?: readonly Readonly<Record<string, unknown>>[] | null;
  readonly metadata?: { readonly continue?: string; readonly remainingItemCount?: number };
}

/** A denial names some of them. */
const mostNamed = 5;

export function startComparison(): Comparison {
  let check: ReturnType<typeof storedObjectsCheck> | undefined;
  let seen = 0;
  return {
    compare(before, after) {
      const [old, made] = [before, after].map((text) => (text === undefined ? undefined : readCrd(JSON.parse(text))));
      // What is wrong with what comes in is said first: only that can be mended.
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

/** An integer that may have more digits than a JavaScript number; one within a text costs only time. */
const LONG_INTEGER = /[[:,]\s*-?\d{16,}\s*[\]},]/;

/** The API server counts to 2^63: a rule about a number past 2^53 must get that number, not its neighbour. */
function exactly(text: string): unknown {
  return LONG_INTEGER.test(text) ? JSON.parse(text, exactInteger) : JSON.parse(text);
}

/** What does not fit into 64 bits is a floating-point number to the API server too. */
function exactInteger(_key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value;
  const integer = BigInt(source);
  return BigInt.asIntN(64, integer) === integer ? integer : value;
}

const storedVersionsOf = (crd: Crd | undefined) =>
  crd?.status?.storedVersions === undefined ? {} : { storedVersions: crd.status.storedVersions };
