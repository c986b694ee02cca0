import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf } from './identity.ts';
import type { ReaperMessage } from './reaper.ts';

/** The program alone, with messages from the test; test/controlplane/leftovers.test.ts has it with real servers and a killed runner. */
describe('the reaper', () => {
  let directory: string;
  const sleepers: ChildProcess[] = [];
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'kidp-reaper-'));
  });
  afterEach(() => {
    for (const sleeper of sleepers.splice(0)) sleeper.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });

  const sleeper = (environment: Record<string, string> = {}, detached = true) => {
    const child = spawn('sleep', ['60'], {
      detached,
      stdio: 'ignore',
      env: { PATH: process.env.PATH, ...environment },
    });
    sleepers.push(child);
    return identityOf(child.pid ?? 0) ?? { pid: 0, startTime: '' };
  };
  const alive = (pid: number) => identityOf(pid) !== undefined;

  async function reapAfter(token: string, messages: ReaperMessage[]): Promise<void> {
    const program = fileURLToPath(new URL('./reaper-main.ts', import.meta.url));
    const child = spawn(process.execPath, [program, token], { stdio: ['pipe', 'inherit', 'inherit'] });
    child.stdin.end(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
    expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0);
  }

  it('ends what was started and removes what was temporary, and nothing else', async () => {
    const reported = sleeper();
    const ended = sleeper();
    const reused = sleeper();
    const temporary = mkdtempSync(join(directory, 'temporary-'));
    await reapAfter('no-such-token', [
      { started: reported },
      { started: ended },
      { ended: ended.pid },
      // Its number was given to another process since.
      { started: { ...reused, startTime: 'long ago' } },
      { directory: temporary },
      { directory },
      { kept: directory },
    ]);
    expect([reported, ended, reused].map(({ pid }) => alive(pid))).toEqual([false, true, true]);
    expect([existsSync(temporary), existsSync(directory)]).toEqual([false, true]);
  });

  it('kills processes that the runner did not report, found by their token, on systems that show environments', async () => {
    const mine = sleeper({ KIDP_REAPER: 'token-1' });
    const inOurGroup = sleeper({ KIDP_REAPER: 'token-1' }, false);
    const another = sleeper({ KIDP_REAPER: 'token-10' });
    await reapAfter('token-1', []);
    const elsewhere = process.platform !== 'linux';
    expect([mine, inOurGroup, another].map(({ pid }) => alive(pid))).toEqual([elsewhere, elsewhere, true]);
  });
});
