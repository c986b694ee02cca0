import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lineFrom, startTestProcess } from '../../../test/support/test-process.ts';
import { scratchFolder, sweepFolders, withWorkspace } from './folders.ts';

let parent: string;
beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'kidp-scratch-'));
});
afterAll(() => rmSync(parent, { recursive: true }));

const named = (owner: string, rest: string): string => {
  const path = join(parent, `kidp-fleet-${Buffer.from(owner).toString('base64url')}.${rest}`);
  mkdirSync(path);
  return path;
};

test('a directory is deleted after its use, also on failure', async () => {
  let seen = '';
  const failing = withWorkspace(async (directory) => {
    seen = directory;
    expect(existsSync(seen)).toBe(true);
    throw new Error('no');
  }, parent);
  await expect(failing).rejects.toThrow('no');
  expect(existsSync(seen)).toBe(false);
});

test('directories of a killed process are swept, and those of a running one kept', async () => {
  const program = `import { scratchFolder } from ${JSON.stringify(fileURLToPath(new URL('./folders.ts', import.meta.url)))};
    console.log(await scratchFolder(${JSON.stringify(parent)}));
    setInterval(() => {}, 1000);`;
  const child = startTestProcess('the program', process.execPath, ['--input-type=module', '--eval', program]);
  const [left] = await lineFrom(child, /^.+$/, { within: 60_000 });
  const mine = await scratchFolder(parent);
  await sweepFolders(parent);
  expect(existsSync(left)).toBe(true);
  await child.kill();
  await sweepFolders(parent);
  expect([existsSync(left), existsSync(mine)]).toEqual([false, true]);
});

test.each([
  { reason: 'a process of another machine may still run', owner: 'elsewhere/1/1', old: false, stays: true },
  { reason: 'no run takes that long', owner: 'elsewhere/1/2', old: true, stays: false },
  {
    reason: 'the pid was reused',
    owner: `${hostname()}/${process.pid}/1`,
    old: false,
    stays: false,
  },
])('$reason', async ({ owner, old, stays }) => {
  const path = named(owner, 'abc');
  if (old) utimesSync(path, 1, 1);
  await sweepFolders(parent);
  expect(existsSync(path)).toBe(stays);
});
