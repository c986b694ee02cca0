/** Archives with equal bytes for equal content: sorted, without users and times. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** `archive` packs the content of a folder as .tar.gz. */
export async function archive(folder: string, file: string): Promise<void> {
  const same = [
    '--sort=name',
    '--mtime=@0',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--use-compress-program=gzip -n',
  ];
  await run('tar', ['--create', ...same, '--file', file, '--directory', folder, ...(await readdir(folder)).sort()]);
}

export async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
