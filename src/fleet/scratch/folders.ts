/**
 * Folders for what programs are given, values and tokens among it: only we can read them, and they are gone afterwards whatever happens.
 * Who is killed cannot clean up; whoever comes next does, as soon as that process is gone.
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { currentRunner, hasExited } from './runner.ts';

const prefix = 'kidp-fleet-';
/** Where it cannot be told whether its process is gone: longer than anything takes, and than a token lasts. */
const leftBehindMilliseconds = 4 * 3_600_000;

/** `mkdtemp` makes it readable for nobody else, and says in the name whose it is. */
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

/** Once in the life of a process: later ones are sweptOnce by the next. */
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
    // Somebody else may sweep as well; what cannot be removed is no reason not to work.
    if (isLeftBehind) await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}
