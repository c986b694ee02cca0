/**
 * `npm run generate` writes what follows from src/api (crds, manifests/schemas, docs/reference) and from src/broker/contract
 * (manifests/events), from policies (the read access of the starter policies in manifests/install, and the packs in charts/operators/files),
 * and from charts/operators (the other manifests).
 * With `--check` it writes nothing, names what is out of date, and fails.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { GENERATED_MARK, generatedFiles, generatedFolders } from '../src/api/generated.ts';
import { EVENTS_FOLDER, EVENTS_MARK, eventFiles } from '../src/broker/contract/files.ts';
import { packFiles, starterRole } from '../src/cli/rbac/starter.ts';
import { manifestFiles } from './manifests.ts';

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const root = join(dirname(fileURLToPath(import.meta.url)), '..');

const packs = await packFiles();
const wanted = new Map([
  ...generatedFiles(),
  ...eventFiles(),
  await starterRole(),
  ...packs,
  ...(await manifestFiles()),
]);
const changed: string[] = [];
for (const [path, content] of wanted) {
  if ((await readOrUndefined(join(root, path))) !== content) changed.push(path);
}
const leftOver: string[] = [];
for (const folder of new Set(packs.map(([path]) => dirname(path)))) {
  const names = await readdir(join(root, folder)).catch(() => []);
  leftOver.push(...names.map((name) => `${folder}/${name}`).filter((path) => !wanted.has(path)));
}
for (const folder of [...generatedFolders, EVENTS_FOLDER]) {
  const names = await readdir(join(root, folder)).catch(() => []);
  for (const path of names.map((name) => `${folder}/${name}`).filter((path) => !wanted.has(path))) {
    // Other pages may stand beside the generated ones: only what bears our mark is ours to remove.
    const content = (await readOrUndefined(join(root, path))) ?? '';
    if (content.includes(GENERATED_MARK) || content.includes(EVENTS_MARK)) leftOver.push(path);
  }
}

if (values.check) {
  for (const path of changed) console.error(`out of date: ${path}`);
  for (const path of leftOver) console.error(`left over:   ${path}`);
  if (changed.length + leftOver.length > 0) {
    console.error('Run `npm run generate` and commit the result.');
    process.exitCode = 1;
  }
} else {
  for (const path of changed) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), wanted.get(path) ?? '');
    console.log(`written: ${path}`);
  }
  for (const path of leftOver) {
    await rm(join(root, path));
    console.log(`removed: ${path}`);
  }
  if (changed.length + leftOver.length === 0) console.log(`${wanted.size} files, all up to date`);
}

async function readOrUndefined(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
