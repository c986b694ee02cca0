/** The package as npm and the image install it: the build output, and the files that it reads. */
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { complaintsOf, root } from '../conventions/tools.ts';

export interface LaidOutPackage {
  readonly place: string;
  remove(): void;
}

/** Whether the types check is a test of its own; here only what keeps the package from being written counts. */
export async function layOutPackage(): Promise<LaidOutPackage> {
  // Below node_modules, so that the package finds its dependencies and Node strips no types: only what was built can run.
  const place = join(root, 'node_modules', '.cache', `kidp-package-${process.pid}`);
  const remove = () => rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  const words = ['-p', 'tsconfig.build.json', '--noCheck', '--singleThreaded', '--outDir', join(place, 'dist')];
  const complaints = await complaintsOf('tsc', words);
  if (complaints !== '') {
    remove();
    throw new Error(`the package cannot be built: ${complaints}`);
  }
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const file of ['package.json', ...files.filter((name: string) => name !== 'dist')]) {
    cpSync(join(root, file), join(place, file), { recursive: true });
  }
  return { place, remove };
}
