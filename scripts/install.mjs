// Brings node_modules in line with package-lock.json, on whatever Node the machine has (>= 18), without any dependency.
// `npm start` and `npm test` call it first, so that both work right after `git clone`.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireLock } from './lock.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const lockFile = join(root, '.kidp', 'install.lock');

/** Installs what is missing; returns the path of the Node that everything else runs on. */
export async function ensureInstalled() {
  requireMachineNode();
  if (isInstalled()) return projectNode();
  await holdingLock(async (lock) => {
    if (isInstalled()) return;
    await npmCi(lock);
    if (!existsSync(projectNode())) await runNodesScript(lock);
  });
  return projectNode();
}

export function projectNode() {
  return join(modules, 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
}

/** One sentence, and out: what is missing and what to do. */
export function fail(sentence) {
  process.stderr.write(`\nkidp: ${sentence}\n`);
  process.exit(1);
}

/** What npm printed, as the one sentence a newcomer needs. */
export function explainInstallFailure(output) {
  if (/ENOSPC/.test(output)) return 'the disk is full: free about 500 MB here, then run the command again.';
  if (/EACCES|EPERM/.test(output))
    return `this user may not write to ${modules}: fix its owner, then run the command again.`;
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|ENETUNREACH|network/i.test(output)) {
    return 'the npm registry cannot be reached: check the network (or `npm config get registry`), then run the command again.';
  }
  if (/EUSAGE|can only install packages when your package\.json and package-lock\.json/.test(output)) {
    return 'package.json and package-lock.json disagree: run `npm install`, commit the lockfile, then run the command again.';
  }
  return '`npm ci` failed; its own words are above. Run `npm ci` by hand to see more.';
}

function requireMachineNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 18) fail(`Node ${process.versions.node} is too old to install with: use Node 18 or newer.`);
}

/** npm writes the inner lockfile last, whoever ran it, so an installation that was interrupted has none. */
function isInstalled() {
  const inner = join(modules, '.package-lock.json');
  if (!existsSync(projectNode()) || !existsSync(inner)) return false;
  const installed = readPackages(inner);
  // One that cannot be read, as after a full disk, is npm's own: the next installation writes it anew.
  if (installed instanceof Error) return false;
  return holds(installed, wantedPackages());
}

/** Whether what is installed is what the lockfile wants. Optional packages are for other platforms where they are missing. */
export function holds(installed, wanted) {
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    if (path === '') return true;
    const present = installed[path];
    return present === undefined ? Boolean(optional || devOptional) : present.version === version;
  });
}

function wantedPackages() {
  const file = join(root, 'package-lock.json');
  const packages = readPackages(file);
  if (!(packages instanceof Error)) return packages;
  return fail(`${file} cannot be read (${packages.message}): restore it, then run the command again.`);
}

/** By their paths, or why they cannot be told. */
function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {};
  } catch (error) {
    return error;
  }
}

async function npmCi(lock) {
  const total = Object.keys(wantedPackages()).length - 1;
  const { code, output } = await npm(['ci', '--no-audit', '--no-fund'], `installing ${total} npm packages`, lock);
  if (code === 0) return;
  process.stderr.write(output);
  fail(explainInstallFailure(output));
}

/** The program of the package `node` comes with its install script; where scripts are switched off (`ignore-scripts`), that one is still wanted. */
async function runNodesScript(lock) {
  const words = ['rebuild', 'node', '--ignore-scripts=false'];
  const doing = 'running the install script of the package "node", which npm has left out';
  const { code, output } = await npm(words, doing, lock);
  if (code === 0 && existsSync(projectNode())) return;
  process.stderr.write(output);
  fail(
    `${projectNode()} is missing. It comes with the install script of the package "node", which npm leaves out where \`ignore-scripts\` is set, and \`npm ${words.join(' ')}\` has not brought it either (its own words are above): run \`npm ci --ignore-scripts=false\` by hand, then run the command again.`,
  );
}

/** Runs npm and says every now and then that it is still at it. Resolves to how it ended and what it said. */
function npm(words, doing, lock) {
  return new Promise((resolve) => {
    const started = Date.now();
    const program = process.env.npm_execpath;
    const args = [...words, '--loglevel=error'];
    const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_ENV: 'development' } };
    const child = program?.endsWith('.js')
      ? spawn(process.execPath, [program, ...args], options)
      : spawn('npm', args, { ...options, shell: process.platform === 'win32' });
    if (child.pid !== undefined) lock.share(child.pid);
    let output = '';
    const keep = (chunk) => {
      output = (output + chunk).slice(-20_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const say = () => {
      const seconds = Math.round((Date.now() - started) / 1000);
      const text = `kidp: ${doing}, ${seconds} s`;
      if (process.stderr.isTTY) process.stderr.write(`\r${text}`);
      else process.stderr.write(`${text}\n`);
    };
    say();
    const timer = setInterval(say, process.stderr.isTTY ? 1_000 : 15_000);
    child.on('error', (error) =>
      fail(`npm cannot be started (${error.message}): install npm, then run the command again.`),
    );
    child.on('close', (code) => {
      clearInterval(timer);
      if (process.stderr.isTTY) process.stderr.write('\n');
      resolve({ code, output });
    });
  });
}

/** Two runs may start at once; `npm ci` removes node_modules, so only one may be in it. */
async function holdingLock(work) {
  const lock = await acquireLock(lockFile, (holder) =>
    process.stderr.write(`kidp: waiting for ${holder}, which is installing\n`),
  ).catch((error) => fail(`cannot write ${lockFile} (${error.message}): fix that, then run the command again.`));
  // Where the work fails it ends the process.
  process.once('exit', lock.release);
  await work(lock);
  process.off('exit', lock.release);
  lock.release();
}
