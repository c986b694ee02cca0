import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withWorkspace } from '../scratch/index.ts';
import { findHelm } from './binary.ts';
import { runHelm } from './run.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-run-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A program that replaces Helm. */
function program(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

const run = (path: string, words: readonly string[], more: Partial<Parameters<typeof runHelm>[2]> = {}) =>
  withWorkspace((directory) => runHelm({ program: path }, words, { directory, timeoutMilliseconds: 60_000, ...more }));

test('runs in its own environment and directories', async () => {
  process.env.KIDP_TEST_SECRET = 'opensesame';
  const { stdout, code } = await run(program('env', 'env; exit 3'), []);
  delete process.env.KIDP_TEST_SECRET;
  expect(code).toBe(3);
  expect(stdout).not.toContain('opensesame');
  const names = stdout.split('\n').map((line) => line.split('=')[0]);
  expect(names).toEqual(
    expect.arrayContaining(['HELM_CACHE_HOME', 'HELM_CONFIG_HOME', 'HELM_DATA_HOME', 'KUBECONFIG']),
  );
  expect(stdout).toContain('KUBECONFIG=/dev/null');
});

test('arguments are passed verbatim', async () => {
  const words = ['a b', '$HOME', '"quoted"', "it's", '*', ''];
  const { stdout } = await run(program('words', 'for word in "$@"; do echo "<$word>"; done'), words);
  expect(stdout).toBe(words.map((word) => `<${word}>\n`).join(''));
});

test('a slow run is killed, and an abort is not reported as a failure', async () => {
  const path = program('slow', 'exec sleep 600');
  await expect(run(path, ['upgrade'], { timeoutMilliseconds: 50 })).rejects.toMatchObject({
    code: 'helm/timeout',
    message: 'Helm timed out after 50 ms (helm upgrade)',
  });
  await expect(run(path, [], { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(run(path, [], { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
});

test('memory is limited', async () => {
  const { stdout } = await run(program('limits', 'ulimit -d; echo $GOMEMLIMIT'), []);
  expect(stdout).toBe('524288\n256MiB\n');
  const script = 'echo "fatal error: runtime: out of memory" >&2; echo "goroutine 1" >&2; exit 2';
  await expect(run(program('large', script), ['template'])).rejects.toMatchObject({
    code: 'helm/failed',
    temporary: false,
    message: 'Helm exceeded 512 MiB of memory (helm template)',
  });
  await expect(run(program('killed', 'kill -9 $$'), ['upgrade'])).rejects.toMatchObject({
    code: 'helm/failed',
    temporary: true,
    message: 'Helm was killed, very likely out of memory (helm upgrade)',
  });
});

test.each([
  { reason: 'new enough', answer: 'v4.3.1', expected: { version: 'v4.3.1', major: 4 } },
  { reason: 'just new enough', answer: 'v3.14.0', expected: { version: 'v3.14.0', major: 3 } },
])('Helm is found on the PATH: $reason', async ({ answer, expected }) => {
  const path = program('helm', `echo ${answer}`);
  expect(await findHelm({ path: `/nowhere:${folder}` })).toEqual({ program: path, ...expected });
});

test.each([
  { reason: 'too old', script: 'echo v3.13.9', message: /is Helm v3\.13\.9: install 3\.14 or later$/ },
  { reason: 'something else', script: 'echo hello', message: /is not a Helm binary/ },
  { reason: 'it fails', script: 'exit 1', message: /is not a Helm binary/ },
])('refused: $reason', async ({ script, message }) => {
  const path = program('other', script);
  await expect(findHelm({ program: path })).rejects.toMatchObject({
    code: 'helm/missing',
    message: expect.stringMatching(message),
  });
});

test('a missing binary is reported', async () => {
  await expect(findHelm({ path: '/nowhere' })).rejects.toMatchObject({ code: 'helm/missing' });
  await expect(findHelm({ program: '/nowhere/helm' })).rejects.toMatchObject({ code: 'helm/missing' });
});

test('endless output is cut off', async () => {
  const path = program('loud', 'exec head -c 26214400 /dev/zero');
  await expect(run(path, ['template'])).rejects.toMatchObject({
    code: 'helm/failed',
    message: 'Helm produced too much output (helm template)',
  });
});
