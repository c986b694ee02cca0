/** `kidp clusters keygen` writes a key set with a new sealing key first; the older keys can still open Secrets. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { newKeySet, readKeyRing } from '../../fleet/index.ts';
import { InputError } from '../common/failure.ts';
import type { Streams } from '../common/streams.ts';

export interface KeygenFlags {
  readonly out?: string;
  readonly keep?: string;
}

export async function keygen({ out, keep }: KeygenFlags, streams: Streams): Promise<number> {
  const file = keep ?? out;
  const before = file === undefined ? undefined : read(file, keep !== undefined);
  // A file that is not a key set must not be overwritten.
  if (before !== undefined && file !== undefined) await readKeyRing(before, file);
  const keys = await newKeySet(before);
  if (out === undefined) {
    streams.out.write(keys);
    return 0;
  }
  const temporary = `${out}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, keys, { mode: 0o600, flag: 'wx' });
    renameSync(temporary, out);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new InputError('file', `--out: ${out} cannot be written (${(error as NodeJS.ErrnoException).code}).`);
  }
  const { sealing } = await readKeyRing(keys, out);
  streams.err.write(
    `the key ${sealing.id} is in ${out}, readable only by you: pass the file to \`kidp serve --cluster-keys\`, and do not store it in Kubernetes\n`,
  );
  return 0;
}

function read(file: string, mustExist: boolean): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && !mustExist) return undefined;
    throw new InputError('file', `${file} cannot be read (${code}).`);
  }
}
