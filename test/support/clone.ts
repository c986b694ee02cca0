/** What `git clone` gives, as far as the scripts before everything else need it: in a folder of its own, for them to be run for real. */
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

/** The machine's own Node where it is older than the project's, which the scripts and `bin` promise to run on (>= 18). */
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

/** Without what the npm that runs these tests has set, and with the given Node first. */
export function environmentWith(node: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return { ...Object.fromEntries(own), PATH: `${dirname(node)}${delimiter}${process.env.PATH}`, ...more };
}
