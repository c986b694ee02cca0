/**
 * Pairs the definitions of both sides by name, and by path if several have the same name (examples, overlays, copies in a chart). If
 * neither decides, the pair is guessed and reported as ambiguous.
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
  /** The file, if other pairs have the same name. */
  readonly file?: string;
}

interface Pairs {
  readonly pairs: readonly Pair[];
  readonly problems: readonly Problem[];
  readonly riddles: readonly Riddle[];
}

/** An ambiguous definition: it shares its name with others, differs from them, and the other side has none at its path. */
interface Riddle {
  readonly definition: Definition;
  readonly other: Definition;
  /** The definition that it was compared with; undefined if it counts as new. */
  readonly comparedWith?: Definition;
}

/**
 * `pairs` pairs the definitions of both sides. Two files with one definition each are a pair whatever the names: that is how a rename is
 * compared. A file with several definitions against a file with one is ambiguous, not a deletion of all others.
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

/** `sharing` makes both definitions of a pair share their equal parts, so that each validation rule is compiled only once. */
export function sharing(pair: Pair): Pair {
  const { before, after } = pair;
  if (before === undefined || after === undefined) return pair;
  const [old, now] = alike(before.crd, after.crd);
  return { ...pair, before: { ...before, crd: old }, after: { ...after, crd: now } };
}

interface Matching {
  readonly name: string;
  /** The definitions without a counterpart so far. */
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
  // A single remaining definition on each side was moved and changed at the same time.
  if (matching.before.length === 1 && matching.after.length === 1) match(matching, () => true);
  const riddles = guess(matching, after);
  return { pairs: distinct(matching.pairs), riddles };
}

/** `match` pairs each definition with its first counterpart. */
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
 * `guess` pairs the remaining definitions. A definition that is no longer at its path is not deleted while another file defines it: it
 * is compared with that one. A definition at a new path counts as new, which is safe.
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

/**
 * `nearestTo` finds the definition with the most trailing path segments in common: a moved file keeps its name, and usually its
 * directory's name.
 */
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

/** `riddleProblem` reports an ambiguity as an error, for sides that the user selected and can reduce. */
export const riddleProblem = ({ definition, other }: Riddle): Problem => twice(definition, other);

/** `riddleWarning` reports an ambiguity as a warning, for a whole tree, where both definitions may be intended. */
export function riddleWarning({ definition, other, comparedWith }: Riddle): string {
  const { line, column } = definition.origin.place('metadata.name') ?? { line: 1, column: 1 };
  const counted =
    comparedWith === undefined
      ? 'the base has no such definition at this path, so it counts as new'
      : `it is no longer at this path, so it was compared with ${comparedWith.origin.file}`;
  return `${definition.origin.file}:${line}:${column}: ${definition.name} is also defined in ${other.origin.file}, and the two differ: ${counted}.`;
}
