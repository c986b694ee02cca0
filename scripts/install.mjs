// Installs the packages of package-lock.json into node_modules. Runs on any Node >= 18, without dependencies.
// `npm start` and `npm test` call it first, so that both work right after `git clone`.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireLock } from './lock.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const lockFile = join(root, '.kidp', 'install.lock');

/** `ensureInstalled` installs missing packages and returns the path of the project's own Node. */
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

/** `fail` prints one sentence, what is wrong and what to do, and exits. */
export function fail(sentence) {
  process.stderr.write(`\nkidp: ${sentence}\n`);
  process.exit(1);
}

/** `explainInstallFailure` turns the output of npm into one sentence that says what to do. */
export function explainInstallFailure(output) {
  if (/ENOSPC/.test(output)) return 'the disk is full: free about 500 MB here, then run the command again.';
  if (/EACCES|EPERM/.test(output))
    return `this user cannot write to ${modules}: fix its owner, then run the command again.`;
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|ENETUNREACH|network/i.test(output)) {
    return 'the npm registry cannot be reached: check the network (or `npm config get registry`), then run the command again.';
  }
  if (/EUSAGE|can only install packages when your package\.json and package-lock\.json/.test(output)) {
    return 'package.json and package-lock.json disagree: run `npm install`, commit the lockfile, then run the command again.';
  }
  return '`npm ci` failed; its output is above. Run `npm ci` manually to see more.';
}

function requireMachineNode() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major < 18) fail(`Node ${process.versions.node} is too old to install with: use Node 18 or newer.`);
}

/** npm writes the inner lockfile last, so an interrupted installation has none. */
function isInstalled() {
  const inner = join(modules, '.package-lock.json');
  if (!existsSync(projectNode()) || !existsSync(inner)) return false;
  const installed = readPackages(inner);
  // An unreadable inner lockfile, for example after a full disk, belongs to npm: the next installation writes it again.
  if (installed instanceof Error) return false;
  return holds(installed, wantedPackages());
}

/** Whether the installed packages are those of the lockfile. Missing optional packages are for other platforms. */
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

/** The packages of a lockfile by path, or the error. */
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

/** The install script of the package `node` brings its program. It must run even if install scripts are disabled (`ignore-scripts`). */
async function runNodesScript(lock) {
  const words = ['rebuild', 'node', '--ignore-scripts=false'];
  const doing = 'running the install script of the package "node", which npm skipped';
  const { code, output } = await npm(words, doing, lock);
  if (code === 0 && existsSync(projectNode())) return;
  process.stderr.write(output);
  fail(
    `${projectNode()} is missing. It comes with the install script of the package "node", which npm skips if \`ignore-scripts\` is set, and \`npm ${words.join(' ')}\` did not install it either (its output is above): run \`npm ci --ignore-scripts=false\`, then run the command again.`,
  );
}

/** Runs npm and reports progress every few seconds. Resolves with its exit code and its output. */
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
      fail(`npm could not be started (${error.message}): install npm, then run the command again.`),
    );
    child.on('close', (code) => {
      clearInterval(timer);
      if (process.stderr.isTTY) process.stderr.write('\n');
      resolve({ code, output });
    });
  });
}

/** Two runs can start at the same time, and `npm ci` removes node_modules first, so only one of them installs. */
async function holdingLock(work) {
  const lock = await acquireLock(lockFile, (holder) =>
    process.stderr.write(`kidp: waiting for ${holder}, which is installing\n`),
  ).catch((error) => fail(`cannot write ${lockFile} (${error.message}): fix that, then run the command again.`));
  // A failure exits the process.
  process.once('exit', lock.release);
  await work(lock);
  process.off('exit', lock.release);
  lock.release();
}
