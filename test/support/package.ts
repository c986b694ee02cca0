/** The package as npm and the image install it: the build output, and the files that it reads. */
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { buildPackage } from '../../scripts/package/build.ts';
import { root } from '../conventions/tools.ts';

export interface LaidOutPackage {
  readonly place: string;
  remove(): void;
}

/** A place of its own for each test file, because several build at the same time. */
export async function layOutPackage(): Promise<LaidOutPackage> {
  // Below node_modules, so that servers find the packages that they need and Node strips no types: only what was built can run.
  const place = join(root, 'node_modules', '.cache', `kidp-package-${process.pid}-${randomUUID()}`);
  const remove = () => rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  try {
    await buildPackage(place);
    for (const file of ['package.json', 'LICENSE', 'README.md', ...files.filter((name: string) => name !== 'dist')]) {
      cpSync(join(root, file), join(place, file), { recursive: true });
    }
  } catch (error) {
    remove();
    throw error;
  }
  return { place, remove };
}
