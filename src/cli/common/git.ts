/**
 * Files at a git revision, for `--base` and `git:REVISION:PATH`. They are checked out into a temporary directory with a temporary index,
 * so that neither the work tree nor the index of the user changes.
 */
import { execFileSync, type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { InputError } from './failure.ts';

interface BaseFiles {
  /** The given paths in the checkout, without those that did not exist. */
  readonly paths: readonly string[];
  /** The root of the checkout. */
  readonly tree: string;
  remove(): void;
}

/** The flag that requires git, and what to do without git. */
export interface Reason {
  readonly word: string;
  readonly instead: string;
}

const forBase: Reason = { word: '--base', instead: 'leave --base out' };

/** `checkOutBase` skips standard input and paths outside of the repository, which have no earlier state. */
export function checkOutBase(revision: string, paths: readonly string[], reason = forBase): BaseFiles {
  const git = gitFor(reason);
  const place = ['-C', existing(resolve(paths.find((path) => path !== '-') ?? '.'))];
  const root = git(
    [...place, 'rev-parse', '--show-toplevel'],
    `the files are not in a git repository: check files of one, or ${reason.instead}`,
  ).trim();
  const commit = git(
    [...place, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`],
    `unknown git revision "${revision}": fetch it first (in a shallow clone: git fetch --depth=1 origin ${revision}, or fetch-depth: 0 of actions/checkout)`,
  ).trim();
  const directory = mkdtempSync(join(tmpdir(), 'kidp-base-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const tree = join(directory, 'tree');
    mkdirSync(tree);
    const environment = { ...process.env, GIT_INDEX_FILE: join(directory, 'index') };
    // All of it, not only what was asked for: a kustomization may build upon anything in the repository.
    git(['-C', root, 'read-tree', commit], 'the revision cannot be read', environment);
    git(
      ['-C', root, 'checkout-index', '--all', '--quiet', `--prefix=${tree}${sep}`],
      'the revision cannot be laid out',
      environment,
    );
    const inside = paths.filter((path) => path !== '-').flatMap((path) => insideOf(root, path));
    return { paths: inside.map((path) => join(tree, path)).filter((path) => existsSync(path)), tree, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** The path from the root of the repository it is in; undefined where it is in none. */
export function wayInRepository(path: string): string | undefined {
  const { status, stdout } = gitIn(existing(resolve(path)), ['rev-parse', '--show-toplevel']);
  return status === 0 ? insideOf(stdout.trim(), path)[0] : undefined;
}

/** Lists which of the files, given relative to the root of the repository, are ignored and not tracked. */
export function ignoredFiles(directory: string, ways: readonly string[]): ReadonlySet<string> {
  const top = gitIn(directory, ['rev-parse', '--show-toplevel']).stdout.trim();
  if (top === '' || ways.length === 0) return new Set();
  const { stdout } = gitIn(top, ['check-ignore', '-z', '--stdin'], ways.join('\0'));
  return new Set(stdout.split('\0').filter((way) => way !== ''));
}

const gitIn = (directory: string, words: readonly string[], input = '') =>
  spawnSync('git', ['-C', directory, ...words], { encoding: 'utf8', input, maxBuffer: 2 ** 28 });

/** The path from the root of the repository; none where it is outside. What is gone by now may still have been there. */
function insideOf(root: string, path: string): string[] {
  const way = relative(root, realPath(resolve(path)));
  return way.startsWith('..') ? [] : [way];
}

/** The directory that a path is in or is, or the nearest that is still there. */
function existing(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : existing(dirname(path));
}

function realPath(path: string): string {
  if (dirname(path) === path) return path;
  try {
    return realpathSync(path);
  } catch {
    return join(realPath(dirname(path)), path.slice(dirname(path).length));
  }
}

/** The first of these revisions that there is, as a commit; undefined where there is none. */
export function firstRevision(revisions: readonly string[], directory: string): string | undefined {
  for (const revision of revisions) {
    const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
    const { status, stdout } = gitIn(directory, words);
    if (status === 0) return stdout.trim();
  }
  return undefined;
}

/** Where two lines of history part; undefined where they have nothing in common. */
export function mergeBase(one: string, other: string, directory: string): string | undefined {
  const { status, stdout } = gitIn(directory, ['merge-base', one, other]);
  return status === 0 ? stdout.trim() : undefined;
}

type Git = (words: readonly string[], otherwise: string, environment?: NodeJS.ProcessEnv) => string;

const gitFor =
  ({ word, instead }: Reason): Git =>
  (words, otherwise, environment = process.env) => {
    try {
      return execFileSync('git', words, {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        env: environment,
        maxBuffer: 2 ** 30,
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        throw new InputError('no-git', `${word} needs git, and it is not on the PATH: install it, or ${instead}.`);
      }
      const said = String((error as SpawnSyncReturns<string>).stderr ?? '').trim();
      throw new InputError('base', `${word}: ${otherwise}${said === '' ? '' : ` (${said})`}.`);
    }
  };
