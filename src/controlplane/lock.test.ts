import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { identityOf } from './identity.ts';
import { acquireLock, type LockHolder, tryLock } from './lock.ts';

describe('a lock', () => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'kidp-lock-'));
    file = join(directory, 'nested', 'x.lock');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const self = identityOf(process.pid) ?? { pid: process.pid, startTime: '' };
  const dead = spawnSync(process.execPath, ['-e', '']).pid;
  const write = (holder: LockHolder | string, ageSeconds = 0) => {
    mkdirSync(dirname(file));
    writeFileSync(file, typeof holder === 'string' ? holder : JSON.stringify(holder));
    const time = Date.now() / 1000 - ageSeconds;
    utimesSync(file, time, time);
  };

  const holders: { reason: string; holder: LockHolder | string; ageSeconds?: number; held: boolean }[] = [
    { reason: 'a living process', holder: { ...self, host: hostname() }, held: true },
    { reason: 'a process that ended', holder: { pid: dead, startTime: '1', host: hostname() }, held: false },
    {
      reason: 'a number that another process has now',
      holder: { ...self, startTime: '1', host: hostname() },
      held: false,
    },
    {
      reason: 'another host with a heartbeat',
      holder: { pid: 1, startTime: '1', host: 'other' },
      ageSeconds: 5,
      held: true,
    },
    {
      reason: 'another host fallen silent',
      holder: { pid: 1, startTime: '1', host: 'other' },
      ageSeconds: 120,
      held: false,
    },
    { reason: 'nobody that can be read', holder: 'not json', held: false },
  ];
  it.each(holders)('held by $reason', ({ holder, ageSeconds, held }) => {
    write(holder, ageSeconds);
    const outcome = tryLock(file);
    expect('heldBy' in outcome).toBe(held);
    if ('heldBy' in outcome) expect(outcome.heldBy).toEqual(holder);
    else outcome.lock.release();
    expect(existsSync(file)).toBe(held);
    expect(readdirSync(join(directory, 'nested'))).toEqual(held ? ['x.lock'] : []);
  });

  it('is waited for, and the waiter learns whom it waits for', async () => {
    const first = await acquireLock(file);
    const waitedFor: number[] = [];
    const order: string[] = [];
    const second = acquireLock(file, (holder) => waitedFor.push(holder.pid)).then((lock) => {
      order.push('second');
      return lock;
    });
    await new Promise((resolve) => setTimeout(resolve, 250));
    order.push('first released');
    first.release();
    (await second).release();
    expect(order).toEqual(['first released', 'second']);
    expect(waitedFor).toEqual([process.pid]);
  });
});
