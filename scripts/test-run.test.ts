/** `npm test` on a project of two small files: the real scripts and the real test runner, and how a run ends. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { identityOf } from '../src/controlplane/identity.ts';
import { environmentWith, machineNode, makeClone } from '../test/support/clone.ts';
import { eventuallyFrom, startTestProcess } from '../test/support/test-process.ts';

const root = join(import.meta.dirname, '..');
const files = {
  'vitest.config.mjs': `export default { cacheDir: 'cache', test: {
    projects: ['unit', 'integration'].map((name) => ({ extends: true, test: { name, include: [name + '.test.ts'] } })),
    coverage: { provider: 'v8', include: ['covered.ts'], reporter: ['text-summary'], thresholds: { lines: 85 } },
  } };`,
  'covered.ts': `export function called() {\n  return 1;\n}\nexport function forgotten() {\n  const a = 1;\n  return a;\n}\n`,
  'unit.test.ts': `import { expect, test } from 'vitest';
    import { called } from './covered.ts';
    test('a unit', () => expect(called()).toBe(1));`,
  'integration.test.ts': `import { test } from 'vitest';
    test('with a server', () => undefined);`,
};

let clone: string;
beforeEach(() => {
  clone = makeClone();
  for (const name of ['test.ts', 'test-summary.ts', 'cleanup.ts', 'lanes.ts'])
    cpSync(join(root, 'scripts', name), join(clone, 'scripts', name));
  for (const name of ['src', 'test', 'node_modules']) symlinkSync(join(root, name), join(clone, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(clone, name), text);
});
afterEach(() => rmSync(clone, { recursive: true, force: true }));

describe('the last lines say what failed, and count it', () => {
  /** As on a machine that has Node and nothing else. */
  const bare = () => ({
    PATH: dirname(process.execPath),
    KIDP_CACHE: join(clone, 'built'),
    KUBEBUILDER_ASSETS: undefined,
  });
  const noGo = /^failed: the integration tests cannot run: .*\bGo\b.*$/;
  const rows = [
    {
      reason: 'too little is covered',
      words: ['--project', 'unit', '--coverage.enabled'],
      last: [/^failed: coverage is below the threshold/, /^1 passed, 1 failed$/],
    },
    {
      reason: 'no control plane can be built: what needs none is run',
      words: [],
      environment: bare,
      last: [noGo, /^1 passed, 1 failed$/],
    },
    {
      reason: 'no control plane can be built, and all that was asked for needs one',
      words: ['--project', 'integration'],
      environment: bare,
      last: [noGo, /^0 passed, 1 failed$/],
    },
    {
      reason: 'no test has such a name',
      words: ['--project', 'unit', '-t', 'no such'],
      last: [/^failed: every test was skipped$/, /^0 passed, 1 failed$/],
    },
  ];
  test.each(rows)('$reason', ({ words, last, environment }) => {
    const { status, stdout } = spawnSync(process.execPath, [join(clone, 'scripts', 'test.ts'), ...words], {
      cwd: clone,
      env: { ...environmentWith(process.execPath), CI: undefined, ...environment?.() },
      encoding: 'utf8',
    });
    const lines = stdout.trimEnd().split('\n').slice(-last.length);
    expect(lines).toEqual(last.map((pattern) => expect.stringMatching(pattern)));
    expect(status).toBe(1);
  });
});

describe('a run that is killed leaves nothing behind', () => {
  const rows = [
    { reason: 'npm', whom: 'npm' },
    { reason: 'the script that npm runs', whom: 'script' },
    { reason: 'the test runner', whom: 'runner' },
  ] as const;
  test.each(rows)('$reason', async ({ whom }) => {
    const temporary = join(clone, 'temporary');
    mkdirSync(temporary);
    // The worker in the middle of a test, and a program that it has started.
    writeFileSync(
      join(clone, 'unit.test.ts'),
      `import { spawn } from 'node:child_process';
      import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
      import { tmpdir } from 'node:os';
      import { join } from 'node:path';
      import { test } from 'vitest';
      test('endless', async () => {
        const program = spawn('sleep', ['600'], { stdio: 'ignore' });
        const folder = mkdtempSync(join(tmpdir(), 'of-a-test-'));
        writeFileSync('writing', JSON.stringify({ folder, program: program.pid, worker: process.pid, runner: process.ppid }));
        renameSync('writing', 'started');
        await new Promise((resolve) => setTimeout(resolve, 600_000));
      }, 600_000);`,
    );
    const env = environmentWith(machineNode, { TMPDIR: temporary });
    const words = ['test', '--silent', '--', '--project', 'unit'];
    const npm = startTestProcess('npm test', 'npm', words, { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'] });
    try {
      await eventuallyFrom(npm, () => existsSync(join(clone, 'started')), { waitedFor: 'the first test' });
      const { folder, ...started } = JSON.parse(readFileSync(join(clone, 'started'), 'utf8'));
      const script = parentOf(started.runner);
      const all = {
        npm: npm.child.pid ?? Number.NaN,
        script,
        ...(started as { program: number; worker: number; runner: number }),
      };
      const alive = () => Object.entries(all).filter(([, pid]) => identityOf(pid) !== undefined);
      expect(alive()).toHaveLength(5);
      expect(existsSync(folder)).toBe(true);
      process.kill(all[whom], 'SIGKILL');
      await expect.poll(alive).toEqual([]);
      await expect.poll(() => existsSync(dirname(folder))).toBe(false);
    } finally {
      npm.child.kill('SIGKILL');
    }
  });
});

function parentOf(pid: number): number {
  return Number(spawnSync('ps', ['-o', 'ppid=', '-p', String(pid)], { cwd: tmpdir(), encoding: 'utf8' }).stdout);
}
