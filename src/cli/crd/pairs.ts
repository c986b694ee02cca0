/**
 * Which definition of one side is which of the other: by name, and where several have a name (examples, overlays, copies in a chart)
 * by path. If neither decides, the pair is guessed and reported as ambiguous.
 */
import { alike } from '../../crd-compat/internal.ts';
import type { Problem } from '../documents/index.ts';
import type { Definition } from './definitions.ts';
import { twice } from './paths.ts';
import type { Side } from './side.ts';

export interface Pair {
  readonly name: string;
  readonly before?: Definition;
  readonly after?: Definition;
  /** The file, where other pairs have the same name. */
  readonly file?: string;
}

interface Pairs {
  readonly pairs: readonly Pair[];
  readonly problems: readonly Problem[];
  readonly riddles: readonly Riddle[];
}

/** A definition that has a name with others, differs from them, and has nothing at its path on the other side. */
interface Riddle {
  readonly definition: Definition;
  readonly other: Definition;
  /** What it was compared with; nothing where it counts as new. */
  readonly comparedWith?: Definition;
}

/**
 * One definition in one file against one in another are a pair whatever they are called: that is how a name is changed. A file of
 * several against a file of one is a riddle, not a deletion of all others.
 */
export function pairs(old: Side, now: Side, wanted?: string): Pairs {
  const before = chosen(old, wanted);
  const after = chosen(now, wanted);
  if (old.isText && now.isText) {
    const [one, other] = [before[0], after[0]];
    if (before.length === 1 && after.length === 1 && one !== undefined && other !== undefined) {
      return { pairs: [{ name: one.name, before: one, after: other }], problems: [], riddles: [] };
    }
    const problem = severalForOne(before, after) ?? severalForOne(after, before);
    if (problem !== undefined) return { pairs: [], problems: [problem], riddles: [] };
  }
  const names = [...new Set([...before, ...after].map(({ name }) => name))].sort();
  const isNamed = (name: string) => (each: Definition) => each.name === name;
  const found = names.map((name) => pairsNamed(name, before.filter(isNamed(name)), after.filter(isNamed(name))));
  return {
    pairs: found.flatMap((each) => each.pairs),
    problems: [],
    riddles: found.flatMap((each) => each.riddles),
  };
}

const chosen = ({ definitions }: Side, wanted: string | undefined): readonly Definition[] =>
  wanted === undefined ? definitions : definitions.filter(({ name }) => name === wanted);

function severalForOne(several: readonly Definition[], single: readonly Definition[]): Problem | undefined {
  const [, second] = several;
  const [only] = single;
  if (second === undefined || only === undefined || single.length > 1) return undefined;
  const names = several.map(({ name }) => name).join(', ');
  return {
    code: 'two-documents',
    file: second.origin.file,
    ...second.origin.place(''),
    message: `there are ${several.length} definitions in this file (${names}) and one in ${only.origin.file}: choose one with --name, or compare directories.`,
  };
}

/** The same pair, whose two definitions are one and the same wherever they are alike: rules are compiled once for all who ask. */
export function sharing(pair: Pair): Pair {
  const { before, after } = pair;
  if (before === undefined || after === undefined) return pair;
  const [old, now] = alike(before.crd, after.crd);
  return { ...pair, before: { ...before, crd: old }, after: { ...after, crd: now } };
}

interface Matching {
  readonly name: string;
  /** Those that have no counterpart yet. */
  readonly before: Definition[];
  readonly after: Definition[];
  readonly pairs: Pair[];
}

function pairsNamed(
  name: string,
  before: readonly Definition[],
  after: readonly Definition[],
): Pick<Pairs, 'pairs' | 'riddles'> {
  const matching: Matching = { name, before: [...before], after: [...after], pairs: [] };
  match(matching, (one, other) => one.path === other.path);
  match(matching, isCopy);
  // One that is left on either side was moved, and changed on the way.
  if (matching.before.length === 1 && matching.after.length === 1) match(matching, () => true);
  const riddles = guess(matching, after);
  return { pairs: distinct(matching.pairs), riddles };
}

/** Each with the first that is its counterpart. */
function match(
  { name, before, after, pairs }: Matching,
  isCounterpart: (one: Definition, other: Definition) => boolean,
) {
  for (const one of [...before]) {
    const other = after.find((each) => isCounterpart(one, each));
    if (other === undefined) continue;
    before.splice(before.indexOf(one), 1);
    after.splice(after.indexOf(other), 1);
    pairs.push({ name, before: one, after: other });
  }
}

const specOf = ({ crd }: Definition): string => JSON.stringify(crd.spec);
const isCopy = (one: Definition, other: Definition): boolean => specOf(one) === specOf(other);

/**
 * What is left. A definition that is gone from its path is not deleted while another file has it: it becomes that. One at a path
 * that was not there has nobody who could be hit.
 */
function guess(matching: Matching, after: readonly Definition[]): Riddle[] {
  const { name, pairs } = matching;
  const riddles: Riddle[] = [];
  for (const one of matching.before) {
    const nearest = nearestTo(one, matching.after.length > 0 ? matching.after : after);
    pairs.push({ name, before: one, ...(nearest === undefined ? {} : { after: nearest }) });
    if (nearest === undefined) continue;
    const other = after.find((each) => !isCopy(each, nearest));
    if (other !== undefined) riddles.push({ definition: one, other, comparedWith: nearest });
    const index = matching.after.indexOf(nearest);
    if (index >= 0) matching.after.splice(index, 1);
  }
  for (const one of matching.after) {
    if (pairs.some((pair) => pair.after !== undefined && isCopy(pair.after, one))) continue;
    pairs.push({ name, after: one });
    const other = after.find((each) => !isCopy(each, one));
    if (other !== undefined) riddles.push({ definition: one, other });
  }
  return riddles;
}

/** A file that is moved keeps its name, and mostly the folder it is in: by how many of the last steps are the same. */
function nearestTo({ path }: Definition, among: readonly Definition[]): Definition | undefined {
  const steps = path.split('/').reverse();
  const inCommon = (other: Definition) => {
    const others = other.path.split('/').reverse();
    const differs = steps.findIndex((step, index) => step !== others[index]);
    return differs < 0 ? steps.length : differs;
  };
  return among.reduce<Definition | undefined>(
    (best, each) => (best === undefined || inCommon(each) > inCommon(best) ? each : best),
    undefined,
  );
}

/** Merges the same change in two files; if a name is still ambiguous, the pairs carry the file. */
function distinct(all: readonly Pair[]): Pair[] {
  const distinct = new Map<string, Pair>();
  for (const pair of all) {
    const key = JSON.stringify([pair.before, pair.after].map((each) => (each === undefined ? null : specOf(each))));
    if (!distinct.has(key)) distinct.set(key, pair);
  }
  const kept = [...distinct.values()];
  if (kept.length === 1) return kept;
  return kept.map((pair) => ({ ...pair, file: (pair.after ?? pair.before)?.origin.file ?? '' }));
}

/** For who has put two sides together by hand, and can take one of the two away. */
export const riddleProblem = ({ definition, other }: Riddle): Problem => twice(definition, other);

/** For who checks a whole tree, where both may be meant to be there. */
export function riddleWarning({ definition, other, comparedWith }: Riddle): string {
  const { line, column } = definition.origin.place('metadata.name') ?? { line: 1, column: 1 };
  const counted =
    comparedWith === undefined
      ? 'nothing was at this path before, so that it counts as new'
      : `nothing is at this path any more, so that it was compared with ${comparedWith.origin.file}`;
  return `${definition.origin.file}:${line}:${column}: ${definition.name} is in ${other.origin.file} too, and the two differ: ${counted}.`;
}
