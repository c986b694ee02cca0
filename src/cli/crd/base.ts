/** The revision that `kidp crd check` compares the work tree with. */
import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { firstRevision, mergeBase } from '../check/base.ts';

export interface Base {
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
