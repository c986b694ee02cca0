/** A folder with the files of a `git clone` that the setup scripts need, so that tests can run these scripts. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');

export function makeClone(): string {
  const clone = mkdtempSync(join(tmpdir(), 'kidp-clone-'));
  mkdirSync(join(clone, 'scripts'));
  const scripts = readdirSync(join(root, 'scripts')).filter((name) => name.endsWith('.mjs'));
  for (const file of [
    'package.json',
    'package-lock.json',
    '.npmrc',
    'bin',
    ...scripts.map((name) => `scripts/${name}`),
  ])
    cpSync(join(root, file), join(clone, file), { recursive: true });
  return clone;
}

/** The system's Node if it is older than the project's: the scripts and `bin` promise to run on it (>= 18). */
export const olderNode: string | undefined = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => folder !== '' && !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .filter((file) => existsSync(file))
  .find((file) => {
    const major = Number(/^v(\d+)/.exec(execFileSync(file, ['--version'], { encoding: 'utf8' }))?.[1]);
    return major >= 18 && major < 24;
  });

export const machineNode = olderNode ?? process.execPath;

/** The environment without the variables that npm has set for these tests, and with the given Node first. */
export function environmentWith(node: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return { ...Object.fromEntries(own), PATH: `${dirname(node)}${delimiter}${process.env.PATH}`, ...more };
}
