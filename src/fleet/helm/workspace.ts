/** A folder that only we can read, for what Helm is given, and that is gone afterwards whatever happens. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `mkdtemp` makes it readable for nobody else. */
export async function withWorkspace<Result>(use: (directory: string) => Promise<Result>): Promise<Result> {
  const directory = await mkdtemp(join(tmpdir(), 'kidp-fleet-'));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
