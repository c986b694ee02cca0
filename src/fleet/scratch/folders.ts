/**
 * Private temporary directories for child processes, which contain values and tokens. They are deleted afterwards;
 * leftovers of a killed process are deleted by the next process.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { currentRunner, hasExited } from './runner.ts';

const prefix = 'kidp-fleet-';
/** The age after which a directory is deleted if its process cannot be checked: longer than any run and any token. */
const leftBehindMilliseconds = 4 * 3_600_000;

/** `mkdtemp` makes it private; its name contains the owning process. */
export async function scratchFolder(parent: string = tmpdir()): Promise<string> {
  await sweptOnce(parent);
  return mkdtemp(join(parent, `${prefix}${Buffer.from(currentRunner()).toString('base64url')}.`));
}

export async function withWorkspace<Result>(
  use: (directory: string) => Promise<Result>,
  parent?: string,
): Promise<Result> {
  const directory = await scratchFolder(parent);
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Sweeps run once per process and directory. */
const sweeps = new Map<string, Promise<void>>();

export function sweptOnce(parent: string = tmpdir()): Promise<void> {
  const known = sweeps.get(parent) ?? sweepFolders(parent);
  sweeps.set(parent, known);
  return known;
}

export async function sweepFolders(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const path = join(parent, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || found.uid !== process.getuid?.()) continue;
    const [owner = ''] = name.slice(prefix.length).split('.');
    const isOld = Date.now() - found.mtimeMs > leftBehindMilliseconds;
    const isLeftBehind = isOld || hasExited(Buffer.from(owner, 'base64url').toString('utf8'));
    // Another process may sweep too, and a directory that cannot be removed must not block work.
    if (isLeftBehind) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}
