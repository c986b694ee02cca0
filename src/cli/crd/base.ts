/** Chooses the git revision that `kidp crd check` compares the work tree with, and drops findings that are not new. */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { firstRevision, ignoredFiles, mergeBase, wayInRepository } from '../common/git.ts';
import type { FoundProblem } from './paths.ts';
import type { Side } from './side.ts';

interface Base {
  readonly revision: string;
  /** The revision as shown to users. */
  readonly label: string;
}

/**
 * `baseOf` returns the named revision; otherwise the merge base with the main branch, so that a pull request is judged by its own
 * changes; otherwise HEAD.
 */
export function baseOf(named: string | undefined, paths: readonly string[]): Base {
  if (named !== undefined) return { revision: named, label: named };
  const directory = existing(resolve(paths[0] ?? '.'));
  const main = firstRevision(['origin/HEAD', 'origin/main', 'origin/master'], directory);
  const parted = main === undefined ? undefined : mergeBase('HEAD', main, directory);
  return parted === undefined ? { revision: 'HEAD', label: 'HEAD' } : { revision: parted, label: parted.slice(0, 10) };
}

/** `existing` returns the nearest existing directory of a path: the user may name a path that was deleted. */
function existing(path: string): string {
  if (existsSync(path)) return statSync(path).isDirectory() ? path : dirname(path);
  return existing(dirname(path));
}

/** `wayOf` returns a path relative to the root of its repository, as in the base; outside a repository the path itself. */
export const wayOf = (path: string): string => wayInRepository(path) ?? path;

/** `withoutIgnored` drops files that git ignores: they are generated locally, are not in the base and are no change. */
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
 * `withoutKnown` drops the problems of files in directories that are not new. A file that was unreadable before has not become worse.
 * A file that is readable only now is fixed: the API server would have rejected the old one, so no object can have been stored with it.
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

/** The codes of problems for which every API server that serves apiextensions.k8s.io/v1 rejects the definition. */
const refused = new Set(['yaml', 'no-name', 'missing', 'wrong-type', 'invalid', 'not-structural', 'reference']);
