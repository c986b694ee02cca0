#!/usr/bin/env node
// `kidp`, also as `kubectl kidp`. Holds on any Node >= 18: where this one is older than the project's, it hands over.
import { existsSync, realpathSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { handOver } from './hand-over.js';

const root = join(dirname(realpathSync(fileURLToPath(import.meta.url))), '..');
const source = join(root, 'src', 'cli', 'main.ts');
// In a work tree the source runs as it is; an installed package has only what was built.
const entry = existsSync(source) ? source : join(root, 'dist', 'cli', 'main.js');

// A process that lasts and has worked hard once would keep 200 MB for what it will throw away again, and does not need them: V8 lets what is old grow
// to a multiple of what lives before it collects, and the allocator of C keeps memory apart for each of a dozen threads, and ever more of it.
const memoryFlags = ['--max-semi-space-size=16', '--heap-growing-percent=25'];
const memoryEnvironment = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' };

if (Number(process.versions.node.split('.')[0]) >= 24) {
  startAnewForLong();
  // Most of a short command is reading its own source: the second time it is read as it was compiled. What lasts would hold on to 10 MB for it.
  if (!isLasting() || entry === source) module.enableCompileCache();
  await import(entry);
} else {
  const node = findNode();
  const flags = isLasting() ? memoryFlags : [];
  if (isLasting()) Object.assign(process.env, { ...memoryEnvironment, ...process.env });
  handOver(node, [...flags, entry, ...process.argv.slice(2)], (error) =>
    refuse(`${node} cannot be started (${error.message})`, 'install kidp anew'),
  );
}

function findNode() {
  const tooOld = `Node ${process.versions.node} is too old and`;
  try {
    const packageFile = createRequire(join(root, 'package.json')).resolve('node/package.json');
    const node = join(dirname(packageFile), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    if (existsSync(node)) return node;
    refuse(
      `${tooOld} the install script of the package "node" has not run`,
      'run `npm rebuild node --ignore-scripts=false`',
    );
  } catch {
    refuse(`${tooOld} the package "node" is not installed beside kidp`, 'run `npm ci`');
  }
}

function refuse(what, next) {
  process.stderr.write(`kidp: ${what}: ${next} (or use Node 24 or newer).\n`);
  process.exit(2);
}

/** In the same process, with what only a start can set; what whoever starts it has said stays as it is. */
function startAnewForLong() {
  if (!isLasting() || process.execve === undefined) return;
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  const missing = memoryFlags.filter((flag) => !given.includes(flag.split('=')[0]));
  if (missing.length === 0) return;
  const words = [process.execPath, ...missing, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, words, { ...memoryEnvironment, ...process.env });
}

/** What runs for as long as it is left to. */
function isLasting() {
  const [, , command, which] = process.argv;
  return command === 'serve' || (command === 'broker' && which !== 'verify');
}
