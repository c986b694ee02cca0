/** Two sides to verdicts: definitions are paired by name, and what objects there are is checked against the new one. */
import {
  type ChangeClass,
  compareCrds,
  type Json,
  type StoredObjects,
  storedObjectsCheck,
  type Verdict,
  worse,
} from '../../crd-compat/index.ts';
import type { Problem } from '../documents.ts';
import type { Definition } from './definitions.ts';
import type { Side } from './side.ts';

export interface Pair {
  readonly name: string;
  readonly before?: Definition;
  readonly after?: Definition;
}

export interface Compared extends Pair {
  readonly verdict: Verdict;
  /** What became of the objects that were given. */
  readonly objects?: StoredObjects;
}

/** Every object there is of a definition, given out one by one. */
export type Objects = (definition: Definition, each: (object: Json) => void) => Promise<void>;

/**
 * One definition in one file against one in another are a pair whatever they are called: that is how a name is changed. A file of
 * several against a file of one is a riddle, not a deletion of all others.
 */
export function pairs(old: Side, now: Side, wanted?: string): { pairs: Pair[]; problems: Problem[] } {
  const before = chosen(old, wanted);
  const after = chosen(now, wanted);
  if (old.isText && now.isText) {
    const [one, other] = [before[0], after[0]];
    if (before.length === 1 && after.length === 1 && one !== undefined && other !== undefined) {
      return { pairs: [{ name: one.name, before: one, after: other }], problems: [] };
    }
    const problem = riddle(before, after) ?? riddle(after, before);
    if (problem !== undefined) return { pairs: [], problems: [problem] };
  }
  const names = [...new Set([...before, ...after].map(({ name }) => name))].sort();
  return { pairs: names.map((name) => pairNamed(name, before, after)), problems: [] };
}

const chosen = ({ definitions }: Side, wanted: string | undefined): readonly Definition[] =>
  wanted === undefined ? definitions : definitions.filter(({ name }) => name === wanted);

function pairNamed(name: string, before: readonly Definition[], after: readonly Definition[]): Pair {
  const one = before.find((each) => each.name === name);
  const other = after.find((each) => each.name === name);
  return { name, ...(one === undefined ? {} : { before: one }), ...(other === undefined ? {} : { after: other }) };
}

function riddle(several: readonly Definition[], single: readonly Definition[]): Problem | undefined {
  const [, second] = several;
  const [only] = single;
  if (second === undefined || only === undefined || single.length > 1) return undefined;
  const names = several.map(({ name }) => name).join(', ');
  return {
    code: 'two-documents',
    file: second.origin.file,
    ...second.origin.place(''),
    message: `there are ${several.length} definitions in this file (${names}) and one in ${only.origin.file}: say with --name which of them is meant, or compare directories.`,
  };
}

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
