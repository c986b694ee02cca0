/**
 * `kidp crd` reports how a change of a CustomResourceDefinition affects objects and manifests before it is applied. It uses the same
 * comparison as admission, so that the two cannot differ.
 *
 * Exit codes: 0 safe or risky, 1 breaking, 2 bad input.
 */

import { InputError } from '../common/failure.ts';
import { version } from '../common/manifest.ts';
import { noProgress, type Progress, progressOn } from '../common/progress.ts';
import type { Streams } from '../common/streams.ts';
import { describeProblem, inputErrorOf, type Problem } from '../documents/index.ts';
import { baseOf, wayOf, withoutIgnored, withoutKnown } from './base.ts';
import { type Compared, classOf, compared } from './compare.ts';
import { refusals } from './definitions.ts';
import { objectsFrom } from './objects.ts';
import { type CheckOptions, type CompareOptions, type Settings, settingsOf } from './options.ts';
import { type CrdReport, format, includesProblems } from './output/format.ts';
import { type Pair, pairs, riddleProblem, riddleWarning, sharing } from './pairs.ts';
import { notesOf, readAt, readFiles, readSides, type Side, type SideOptions } from './side.ts';

/** `diff` compares two sides and returns the exit code. Bad input is thrown, unless the output format can represent it. */
export async function diff(old: string, now: string, options: CompareOptions, streams: Streams): Promise<number> {
  const settings = settingsOf(options);
  const sides = await readSides([old, now], { ...options, standardInput: streams.in });
  return compare(sides, old, options, settings, streams);
}

/** `check` compares the files of the work tree with a git revision and returns the exit code. */
export async function check(paths: readonly string[], options: CheckOptions, streams: Streams): Promise<number> {
  const settings = settingsOf(options);
  const { revision, label } = baseOf(options.base, paths);
  const reading: SideOptions = { ...options, standardInput: streams.in };
  const before = await readAt(revision, paths, label, {
    ...reading,
    label,
    mayBeMissing: true,
    reason: whyGit(options),
  });
  const after = await readFiles(paths, paths.join(', '), { ...reading, prefixOf: wayOf });
  // A path that existed in the base was deleted since: naming it is no mistake.
  const gone = (problem: Problem) => problem.code === 'no-such-file' && before.definitions.length > 0;
  const now = { ...after, problems: after.problems.filter((problem) => !gone(problem)) };
  const [was, is] = withoutKnown(before, withoutIgnored(now, paths));
  const sides = [
    { ...was, isText: false },
    { ...is, isText: false },
  ] as const;
  return compare(sides, label, options, settings, streams, true);
}

/** `whyGit` explains why git is needed; without --base the default base is a git revision too. */
const whyGit = ({ base }: CheckOptions) => ({
  word: base === undefined ? 'kidp crd check' : '--base',
  instead: 'compare two files with "kidp crd diff OLD NEW"',
});

/** `compare` pairs and compares two sides. With `isTree`, several definitions may have the same name on purpose. */
async function compare(
  [old, now]: readonly [Side, Side],
  against: string,
  options: CompareOptions,
  settings: Settings,
  streams: Streams,
  isTree = false,
): Promise<number> {
  const found = pairs(old, now, options.name);
  const riddles = isTree ? [] : found.riddles.map(riddleProblem);
  const problems = [...old.problems, ...now.problems, ...found.problems, ...riddles];
  const colour = streams.out.isTTY === true && process.env.NO_COLOR === undefined;
  const report = { ...settings, problems, colour, version: version(), against };
  if (problems.length > 0) return refuse({ ...report, compared: [] }, settings, streams);
  const paired = found.pairs.map(sharing);
  const refused = paired.flatMap(({ before, after }) => refusals(before, after));
  if (refused.length > 0) return refuse({ ...report, compared: [], problems: refused }, settings, streams);
  // CI may check every repository: a tree without definitions is safe. A definition given by name must exist.
  const mayBeNone = isTree && options.name === undefined;
  if (found.pairs.length === 0 && !mayBeNone) throw new InputError('nothing', nothing(old, now, options.name));
  for (const note of notesOf(old, now)) streams.err.write(`note: ${note}\n`);
  if (found.pairs.length === 0) streams.err.write(`note: ${nothing(old, now)}\n`);
  if (isTree) for (const riddle of found.riddles) streams.err.write(`warning: ${riddleWarning(riddle)}\n`);
  const progress = settings.quiet ? noProgress : progressOn(streams.err);
  const judged = await judgeAll(paired, options, streams, progress);
  streams.out.write(await format({ ...report, compared: judged }, settings.output));
  const failing = judged.map(classOf).some((each) => each === 'breaking' || each === settings.failOn);
  return failing ? 1 : 0;
}

async function judgeAll(
  all: readonly Pair[],
  options: CompareOptions,
  streams: Streams,
  progress: Progress,
): Promise<Compared[]> {
  const objects = await objectsFrom(options.objects ?? [], { ...options, standardInput: streams.in });
  const judged: Compared[] = [];
  for (const pair of all) {
    progress.step(() => `compared ${judged.length} of ${all.length} definitions`);
    judged.push(await compared(pair, objects));
  }
  progress.end();
  return judged;
}

/** `refuse` reports bad input on standard error and, if the output format can represent it, on standard output too. */
async function refuse(report: CrdReport, { output }: Settings, streams: Streams): Promise<number> {
  if (!includesProblems(output)) throw inputErrorOf(report.problems);
  streams.err.write(`${report.problems.map(describeProblem).join('\n')}\n`);
  streams.out.write(await format({ ...report, colour: false }, output));
  return 2;
}

function nothing(old: Side, now: Side, name?: string): string {
  const where = [...new Set([old.word, now.word])].join(', ');
  const what = name === undefined ? 'no CustomResourceDefinition' : `no CustomResourceDefinition ${name}`;
  return `${where}: ${what} found.`;
}
