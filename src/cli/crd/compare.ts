/** Compares a pair of definitions, and validates existing objects against the new one. */
import {
  type ChangeClass,
  compareCrds,
  type Json,
  type StoredObjects,
  storedObjectsCheck,
  type Verdict,
} from '../../crd-compat/index.ts';
import { worse } from '../../crd-compat/internal.ts';
import type { Definition } from './definitions.ts';
import type { Pair } from './pairs.ts';

export interface Compared extends Pair {
  readonly verdict: Verdict;
  /** The result of validating the existing objects. */
  readonly objects?: StoredObjects;
}

/** `Objects` calls `each` for every existing object of a definition. */
export type Objects = (definition: Definition, each: (object: Json) => void) => Promise<void>;

export async function compared(pair: Pair, objects: Objects | undefined): Promise<Compared> {
  const { before, after } = pair;
  const verdict = compareCrds(before?.crd, after?.crd);
  if (objects === undefined || before === undefined) return { ...pair, verdict };
  if (after === undefined) {
    let checked = 0;
    await objects(before, () => {
      checked += 1;
    });
    return { ...pair, verdict, objects: { checked, broken: checked, first: [] } };
  }
  const check = storedObjectsCheck(before.crd, after.crd);
  await objects(before, (object) => check.add(object));
  return { ...pair, verdict, objects: check.result() };
}

/** `classOf` returns the class of the whole change: an existing object that breaks makes it breaking. */
export const classOf = ({ verdict, objects }: Compared): ChangeClass =>
  worse(verdict.verdict, (objects?.broken ?? 0) > 0 ? 'breaking' : 'safe');
