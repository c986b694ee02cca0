/** Makes a folder of the cache exactly once and atomically, even if several processes ask at the same time. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ControlPlaneError } from './errors.ts';
import { diskFull, noPermission } from './go.ts';
import { acquireLock } from './lock.ts';
import type { Progress } from './progress.ts';
import { reaper } from './reaper.ts';

interface OnceOptions {
  asset: string;
  version: string;
  /** The folder of all assets. */
  cache: string;
  /** The name of the folder to make. */
  key: string;
  onProgress: (progress: Progress) => void;
  /** Fails if the folder does not exist. */
  onlyCached?: boolean | undefined;
  make: (folders: { finished: string; temporary: string }, report: Report) => Promise<void>;
}

export interface Report {
  (step: Progress['step'], done: number, total: number, more?: Pick<Progress, 'processId' | 'unit'>): void;
  end(): void;
}

/** `makeOnce` returns the folder. `make` fills `finished`, which is renamed when it is complete. */
export async function makeOnce(options: OnceOptions): Promise<string> {
  const target = join(options.cache, options.key);
  if (existsSync(target)) return target;
  if (options.onlyCached === true) {
    throw new ControlPlaneError({
      code: 'assets/missing',
      message: `${options.asset} ${options.version} is not in ${options.cache}`,
      hint: 'It is built or downloaded where that is allowed.',
    });
  }
  const report = reporter(options);
  try {
    await mkdir(options.cache, { recursive: true });
    const lock = await acquireLock(`${target}.lock`, ({ pid }) => report('wait', 0, 1, { processId: pid }));
    try {
      // The previous holder of the lock may have made it.
      if (!existsSync(target)) await makeAlone(target, options, report);
    } finally {
      lock.release();
    }
  } catch (error) {
    throw explainFileFailure(error, options.cache);
  } finally {
    report.end();
  }
  report('done', 1, 1);
  return target;
}

/** Repeats the last report every second, so that a long link step does not look stuck. */
function reporter({ asset, version, onProgress }: OnceOptions): Report {
  const started = Date.now();
  let say = (): void => undefined;
  const timer = setInterval(() => say(), 1_000);
  const report: Report = (step, done, total, more) => {
    say = () => onProgress({ asset, version, step, done, total, seconds: (Date.now() - started) / 1000, ...more });
    say();
  };
  report.end = () => clearInterval(timer);
  return report;
}

async function makeAlone(target: string, options: OnceOptions, report: Report): Promise<void> {
  await removeLeftovers(target);
  const scratch = `${target}.building-${process.pid}`;
  const temporary = join(scratch, 'temporary');
  const finished = join(scratch, 'finished');
  await reaper().notify({ directory: scratch });
  try {
    await mkdir(temporary, { recursive: true });
    await mkdir(finished);
    await options.make({ finished, temporary }, report);
    await rename(finished, target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
    await reaper().notify({ kept: scratch });
  }
}

/** Removes the leftovers of a killed build; the lock makes sure that nobody else uses them. */
async function removeLeftovers(target: string): Promise<void> {
  for (const name of await readdir(dirname(target))) {
    if (name.startsWith(`${basename(target)}.building-`))
      await rm(join(dirname(target), name), { recursive: true, force: true });
  }
}

export function explainFileFailure(error: unknown, cache: string): unknown {
  if (error instanceof ControlPlaneError) return error;
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') return diskFull(`there is no space left in ${cache}`, error);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') {
    return noPermission(`this user cannot write to ${path ?? cache}`, error);
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') return noPermission(`${path ?? cache} is not a directory`, error);
  return error;
}
