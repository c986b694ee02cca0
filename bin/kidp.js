#!/usr/bin/env node
// `kidp`, also as `kubectl kidp`. Holds on any Node >= 18: where this one is older than the project's, it hands over.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(realpathSync(fileURLToPath(import.meta.url))), '..');
const source = join(root, 'src', 'cli', 'main.ts');
// In a work tree the source runs as it is; an installed package has only what was built.
const entry = existsSync(source) ? source : join(root, 'dist', 'cli', 'main.js');

// A replica that has worked hard once would keep more than 100 MB for what it will throw away again, and does not need them.
const youngMemory = '--max-semi-space-size=16';

if (Number(process.versions.node.split('.')[0]) >= 24) {
  startAnewForLong();
  // Most of a short command is reading its own source: the second time it is read as it was compiled.
  module.enableCompileCache();
  await import(entry);
} else {
  handOver(findNode());
}

function findNode() {
  try {
    const packageFile = createRequire(join(root, 'package.json')).resolve('node/package.json');
    const node = join(dirname(packageFile), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    if (existsSync(node)) return node;
  } catch {
    // Said below: the dependency is not installed.
  }
  process.stderr.write(
    `kidp: Node ${process.versions.node} is too old and the package "node" is not installed beside kidp: run \`npm ci\` (or use Node 24 or newer).\n`,
  );
  process.exit(2);
}

function handOver(node) {
  const flags = isReplica() ? [youngMemory] : [];
  const child = spawn(node, [...flags, entry, ...process.argv.slice(2)], { stdio: 'inherit' });
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('close', (code, signal) => {
    process.exitCode = signal ? 1 : (code ?? 1);
  });
}

/** In the same process, with what only a start can set; unless whoever starts it has said otherwise. */
function startAnewForLong() {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ');
  if (!isReplica() || given.includes('semi-space-size') || process.execve === undefined) return;
  const words = [process.execPath, youngMemory, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, words, process.env);
}

function isReplica() {
  return process.argv[2] === 'serve';
}
