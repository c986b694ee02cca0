#!/usr/bin/env node
// The `kidp` command, also `kubectl kidp`. The package runs on Node >= 22.19. A work tree with its dependencies runs its source on Node 24,
// which it starts itself if this Node is older. This file must be readable for older versions, to say so.
import { existsSync, realpathSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runOnNode } from './run-on-node.js';

const root = join(dirname(realpathSync(fileURLToPath(import.meta.url))), '..');
const source = join(root, 'src', 'cli', 'main.ts');
const bundle = join(root, 'dist', 'cli.js');
const runsSource = existsSync(source) && (existsSync(join(root, 'node_modules', 'commander')) || !existsSync(bundle));
const entry = runsSource ? source : bundle;
const [major, minor] = process.versions.node.split('.').map(Number);
const isNewEnough = major >= 24 || (!runsSource && (major > 22 || (major === 22 && minor >= 19)));

// Without these settings a server keeps about 200 MB of garbage after a burst: V8 lets the old generation grow to a multiple of the live
// objects before it collects, and malloc keeps an arena for each of a dozen threads.
const memoryFlags = ['--max-semi-space-size=16', '--heap-growing-percent=25'];
const memoryEnvironment = { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072', MALLOC_MMAP_THRESHOLD_: '131072' };

if (isNewEnough) {
  restartServerWithMemoryFlags();
  // A short command spends most of its time compiling its source; the cache saves that from the second run on. A server would only keep the
  // 10 MB of the cache in memory.
  if (!isServer() || runsSource) module.enableCompileCache();
  await import(entry);
} else if (!runsSource) {
  refuse(
    `Node ${process.versions.node} is too old`,
    'install Node 22.19 or newer, or use a single executable, which needs no Node',
  );
} else {
  const node = findNode();
  const flags = isServer() ? memoryFlags : [];
  if (isServer()) Object.assign(process.env, { ...memoryEnvironment, ...process.env });
  runOnNode(node, [...flags, entry, ...process.argv.slice(2)], (error) =>
    refuse(`${node} could not be started (${error.message})`, 'run `npm ci` (or use Node 24 or newer)'),
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
      'run `npm rebuild node --ignore-scripts=false` (or use Node 24 or newer)',
    );
  } catch {
    refuse(`${tooOld} the package "node" is not installed beside kidp`, 'run `npm ci` (or use Node 24 or newer)');
  }
}

function refuse(what, next) {
  process.stderr.write(`kidp: ${what}: ${next}.\n`);
  process.exit(2);
}

/** Replaces this process by one with the memory settings, which only take effect at start. Settings of the caller take precedence. */
function restartServerWithMemoryFlags() {
  if (!isServer() || process.execve === undefined) return;
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  const missing = memoryFlags.filter((flag) => !given.includes(flag.split('=')[0]));
  if (missing.length === 0) return;
  const words = [process.execPath, ...missing, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, words, { ...memoryEnvironment, ...process.env });
}

/** Whether the command runs until it is stopped. */
function isServer() {
  const [, , command, which] = process.argv;
  return command === 'serve' || (command === 'broker' && which !== 'verify');
}
