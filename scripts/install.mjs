// Brings node_modules in line with package-lock.json, on whatever Node the machine has (>= 18), without any dependency.
// `npm start` and `npm test` call it first, so that both work right after `git clone`.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const lock = join(root, '.kidp', 'install.lock');

/** Installs what is missing; returns the path of the Node that everything else runs on. */
export async function ensureInstalled() {
  requireMachineNode();
  if (isInstalled()) return projectNode();
  await holdingLock(async () => {
    if (!isInstalled()) await npmCi();
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

function npmCi() {
  return new Promise((resolve) => {
    const started = Date.now();
    const total = Object.keys(wantedPackages()).length - 1;
    const npm = process.env.npm_execpath;
    const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
    const options = { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_ENV: 'development' } };
    const child = npm?.endsWith('.js')
      ? spawn(process.execPath, [npm, ...args], options)
      : spawn('npm', args, { ...options, shell: process.platform === 'win32' });
    let output = '';
    const keep = (chunk) => {
      output = (output + chunk).slice(-20_000);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    const say = () => {
      const seconds = Math.round((Date.now() - started) / 1000);
      const text = `kidp: installing ${total} npm packages, ${seconds} s`;
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
      if (code === 0) return resolve();
      process.stderr.write(output);
      fail(explainInstallFailure(output));
    });
  });
}

/** Two runs may start at once; `npm ci` removes node_modules, so only one may be in it. */
async function holdingLock(work) {
  mkdirSync(join(root, '.kidp'), { recursive: true });
  for (let said = false; ; said = true) {
    try {
      const file = openSync(lock, 'wx');
      writeFileSync(file, String(process.pid));
      closeSync(file);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST')
        fail(`cannot write ${lock} (${error.message}): fix that, then run the command again.`);
      const holder = readHolder();
      if (holder === undefined) rmSync(lock, { force: true });
      else {
        if (!said) process.stderr.write(`kidp: waiting for process ${holder}, which is installing\n`);
        await new Promise((wake) => setTimeout(wake, 500));
      }
    }
  }
  const release = () => rmSync(lock, { force: true });
  // Where the work fails it ends the process: whoever gets its number next does not hold the lock.
  process.once('exit', release);
  await work();
  process.off('exit', release);
  release();
}

/** The process that holds the lock, or undefined where it is gone. */
function readHolder() {
  try {
    const text = readFileSync(lock, 'utf8');
    if (text === '') return Date.now() - statSync(lock).mtimeMs > 5_000 ? undefined : 'unknown';
    process.kill(Number(text), 0);
    return text;
  } catch (error) {
    return error.code === 'EPERM' ? 'of another user' : undefined;
  }
}
