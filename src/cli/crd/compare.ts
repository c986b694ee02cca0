/** A pair of definitions to a verdict, and what objects there are checked against the new one. */
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
  /** What became of the objects that were given. */
  readonly objects?: StoredObjects;
}

/** Every object there is of a definition, given out one by one. */
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

/** What it comes to: an object that breaks is no mere risk. */
export const classOf = ({ verdict, objects }: Compared): ChangeClass =>
  worse(verdict.verdict, (objects?.broken ?? 0) > 0 ? 'breaking' : 'safe');
