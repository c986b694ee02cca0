/** The revision that `kidp crd check` compares the work tree with, and what of both is the same. */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { firstRevision, ignoredFiles, mergeBase, wayInRepository } from '../common/git.ts';
import type { FoundProblem } from './paths.ts';
import type { Side } from './side.ts';

interface Base {
  readonly revision: string;
  /** For people. */
  readonly label: string;
}

/**
 * The one that was named; else where this branch left the main one, so that a pull request is judged by its own changes; else what
 * was committed last.
 */
export function baseOf(named: string | undefined, paths: readonly string[]): Base {
  if (named !== undefined) return { revision: named, label: named };
  const directory = existing(resolve(paths[0] ?? '.'));
  const main = firstRevision(['origin/HEAD', 'origin/main', 'origin/master'], directory);
  const parted = main === undefined ? undefined : mergeBase('HEAD', main, directory);
  return parted === undefined ? { revision: 'HEAD', label: 'HEAD' } : { revision: parted, label: parted.slice(0, 10) };
}

/** A path that was deleted may be what is asked about. */
function existing(path: string): string {
  if (existsSync(path)) return statSync(path).isDirectory() ? path : dirname(path);
  return existing(dirname(path));
}

/** Where a path is in its repository, as the base has it; where there is none the path itself. */
export const wayOf = (path: string): string => wayInRepository(path) ?? path;

/** What git ignores was made here, is not in the base, and is nobody's change. */
export function withoutIgnored(side: Side, paths: readonly string[]): Side {
  const found = [...side.definitions, ...side.problems, ...side.leftAlone];
  const named = new Set(paths.map(wayOf));
  const ways = new Set(found.flatMap(({ path = '' }) => (path === '' || named.has(path) ? [] : [path])));
  const ignored = ignoredFiles(existing(resolve(paths[0] ?? '.')), [...ways]);
  if (ignored.size === 0) return side;
  const counts = ({ path = '' }: { readonly path?: string }) => !ignored.has(path);
  return {
    ...side,
    definitions: side.definitions.filter(counts),
    problems: side.problems.filter(counts),
    leftAlone: side.leftAlone.filter(counts),
  };
}

/**
 * Of directories: what could not be read before either has not become worse, and what could only not be read before is fixed.
 * Neither the API server has read it, so that nothing can have been stored by it.
 */
export function withoutKnown(before: Side, now: Side): [Side, Side] {
  const known = new Set(before.problems.map(keyOf));
  const isKnown = (problem: FoundProblem) => problem.path !== undefined && known.has(keyOf(problem));
  const still = new Set(now.problems.filter(isKnown).map(keyOf));
  const readable = new Set(now.definitions.map(({ path }) => path));
  const isFixed = ({ path, code }: FoundProblem) => path !== undefined && refused.has(code) && readable.has(path);
  const fixed = before.problems.filter(isFixed);
  return [
    {
      ...before,
      problems: before.problems.filter((each) => !isFixed(each) && !still.has(keyOf(each))),
      notes: [
        ...before.notes,
        ...fixed.map((each) => ({ ...each, message: `${each.message} The current definition counts as new.` })),
      ],
    },
    {
      ...now,
      problems: now.problems.filter((each) => !isKnown(each)),
      leftAlone: [...now.leftAlone, ...now.problems.filter(isKnown)],
    },
  ];
}

const keyOf = ({ path, code, message }: FoundProblem): string => JSON.stringify([path, code, message]);

/** What no API server takes that serves definitions of today. */
const refused = new Set(['yaml', 'no-name', 'missing', 'wrong-type', 'invalid', 'not-structural', 'reference']);
