import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLock, removeDead, tryLock } from './lock.mjs';

describe('the lock of an installation', () => {
  let directory: string;
  let file: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'kidp-install-lock-'));
    file = join(directory, '.kidp', 'install.lock');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  interface Holder {
    place: string;
    processes: { pid: number; startTime?: string }[];
  }
  const self = ownName();
  const [own] = self.processes;
  const dead = { pid: spawnSync(process.execPath, ['-e', '']).pid, startTime: '1' };

  /** As this process writes itself down. */
  function ownName(): Holder {
    const place = mkdtempSync(join(tmpdir(), 'kidp-install-lock-'));
    try {
      tryLock(join(place, 'lock'));
      return JSON.parse(readFileSync(join(place, 'lock'), 'utf8'));
    } finally {
      rmSync(place, { recursive: true });
    }
  }

  function write(holder: Holder | string, ageSeconds = 0): void {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof holder === 'string' ? holder : JSON.stringify(holder));
    const time = Date.now() / 1000 - ageSeconds;
    utimesSync(file, time, time);
  }

  const holders: { reason: string; holder: Holder | string; ageSeconds?: number; held: boolean }[] = [
    { reason: 'a living process, however long', holder: self, ageSeconds: 3_600, held: true },
    { reason: 'a process that ended', holder: { ...self, processes: [dead] }, held: false },
    {
      reason: 'a number that another process has now, as after a restart of a container',
      holder: { ...self, processes: [{ pid: process.pid, startTime: '1' }] },
      held: false,
    },
    {
      reason: 'an npm that goes on after who started it was killed',
      holder: { ...self, processes: [dead, own ?? dead] },
      held: true,
    },
    {
      reason: 'another container with a heartbeat',
      holder: { place: 'other', processes: [dead] },
      ageSeconds: 5,
      held: true,
    },
    {
      reason: 'another container fallen silent',
      holder: { place: 'other', processes: [own ?? dead] },
      ageSeconds: 120,
      held: false,
    },
    { reason: 'somebody who is just writing his name', holder: '', held: true },
    { reason: 'somebody who was killed before he had written it', holder: '', ageSeconds: 120, held: false },
    { reason: 'the number alone, of an older version', holder: String(process.pid), ageSeconds: 120, held: false },
  ];
  it.each(holders)('held by $reason', ({ holder, ageSeconds, held }) => {
    write(holder, ageSeconds);
    const { lock, heldBy } = tryLock(file);
    expect(heldBy !== undefined).toBe(held);
    lock?.release();
    expect(readdirSync(dirname(file))).toEqual(held ? ['install.lock'] : []);
  });

  const successors: { reason: string; holder: Holder | string }[] = [
    { reason: 'somebody has taken', holder: self },
    { reason: 'somebody is about to take', holder: '' },
  ];
  it.each(successors)('that $reason since it was seen dead is left alone', ({ holder }) => {
    const seen = { text: '', touched: Date.now() - 120_000 };
    write(holder);
    const before = readFileSync(file, 'utf8');
    removeDead(file, seen);
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect(readdirSync(dirname(file))).toEqual(['install.lock']);
  });

  it('is waited for, and the waiter learns whom it waits for', async () => {
    const first = await acquireLock(file);
    first.share(process.pid);
    const holders: string[] = [];
    const order: string[] = [];
    const second = acquireLock(file, (holder: string) => holders.push(holder)).then((lock) => {
      order.push('second');
      return lock;
    });
    await expect.poll(() => holders).toEqual([`process ${process.pid}`]);
    order.push('first released');
    first.release();
    (await second).release();
    expect(order).toEqual(['first released', 'second']);
    expect(existsSync(file)).toBe(false);
  });
});
