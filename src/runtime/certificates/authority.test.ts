import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from '../telemetry/logger.ts';
import { FakeClock } from '../testing/index.ts';
import { type Authority, type AuthorityOptions, startAuthority } from './authority.ts';
import type { Bundle } from './bundle.ts';
import { inspect, issuerIn, splitBundle } from './inspect.ts';
import { issueAuthority, issueLeaf } from './issue.ts';
import { directoryStore, memoryStore } from './local-store.ts';
import type { CertificateStore } from './store.ts';

const minute = 60_000;
const lives = { authorityMilliseconds: 90 * minute, leafMilliseconds: 9 * minute, backdateMilliseconds: minute };

const running: Authority[] = [];
afterEach(async () => {
  for (const authority of running.splice(0)) await authority.stop();
});

async function start(
  clock: FakeClock,
  store: CertificateStore,
  over: Partial<AuthorityOptions> = {},
): Promise<Authority> {
  const authority = await startAuthority({ store, clock, identity: 'one', names: ['localhost'], ...lives, ...over });
  running.push(authority);
  return authority;
}

const issuerOf = (authority: Authority): string | undefined =>
  issuerIn(splitBundle(authority.bundle().pem), authority.current().certificate);

describe('one replica', () => {
  it('renews its leaf at two thirds of its lifetime and keeps the authority', async () => {
    const clock = new FakeClock();
    const authority = await start(clock, memoryStore());
    const before = { leaf: authority.current().certificate, issuer: issuerOf(authority) };
    await clock.advance(6 * minute - 20_000);
    expect(authority.current().certificate).toBe(before.leaf);
    await clock.advance(40_000);
    expect(authority.current().certificate).not.toBe(before.leaf);
    expect(issuerOf(authority)).toBe(before.issuer);
  });

  it('adds a new authority to the bundle before it serves its leaf, and removes the old one afterwards', async () => {
    const clock = new FakeClock();
    const published: number[] = [];
    const authority = await start(clock, memoryStore(), {
      publish: async (bundle) => {
        published.push(splitBundle(bundle.pem).length);
        return { before: bundle, held: bundle };
      },
    });
    const first = issuerOf(authority);
    await clock.advance(60 * minute + 5000);
    expect(splitBundle(authority.bundle().pem)).toHaveLength(2);
    expect(issuerOf(authority)).toBe(first);
    await clock.advance(5 * minute);
    expect(splitBundle(authority.bundle().pem)).toHaveLength(1);
    expect(issuerOf(authority)).not.toBe(first);
    expect(new Set(published)).toEqual(new Set([1, 2]));
  });

  it('keeps the old authority while the bundle cannot be published', async () => {
    const clock = new FakeClock();
    let away = false;
    const authority = await start(clock, memoryStore(), {
      publish: async (bundle) => {
        if (away) throw new Error('forbidden');
        return { before: bundle, held: bundle };
      },
    });
    const first = issuerOf(authority);
    away = true;
    await clock.advance(61 * minute);
    expect(issuerOf(authority)).toBe(first);
    away = false;
    await clock.advance(10 * minute);
    expect(issuerOf(authority)).not.toBe(first);
  });

  it('keeps serving while the store is unavailable, and catches up afterwards', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    let away = false;
    const readMaterial = () => (away ? Promise.reject(new Error('connection refused')) : store.readMaterial());
    const authority = await start(clock, { ...store, readMaterial });
    const before = authority.current();
    away = true;
    await clock.advance(8 * minute);
    expect(authority.current()).toBe(before);
    away = false;
    await clock.advance(minute);
    expect(authority.current()).not.toBe(before);
  });

  it('waits for an unavailable store at startup, and stops on request', async () => {
    const clock = new FakeClock();
    const store = { ...memoryStore(), readMaterial: () => Promise.reject(new Error('connection refused')) };
    const stopping = new AbortController();
    const started = start(clock, store, { signal: stopping.signal });
    started.catch(() => {});
    await clock.advance(minute);
    stopping.abort(new Error('enough'));
    await clock.advance(0);
    await expect(started).rejects.toThrow('enough');
  });

  const steps = [
    { reason: 'far ahead, past the life of everything', minutes: 1000 },
    { reason: 'back, before everything was issued', minutes: -1000 },
  ];
  it.each(steps)('has a valid leaf again after the clock was set $reason', async ({ minutes }) => {
    const clock = new FakeClock();
    const authority = await start(clock, memoryStore());
    clock.stepWallClock(minutes * minute);
    await clock.advance(minute);
    const { notBefore, notAfter } = inspect(authority.current().certificate);
    expect(notBefore).toBeLessThanOrEqual(clock.now());
    expect(notAfter).toBeGreaterThan(clock.now());
    expect(issuerOf(authority)).toBeDefined();
  });

  it('replaces an expired leaf at startup', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const first = await start(clock, store);
    const before = first.current().certificate;
    await first.stop();
    clock.jump(50 * minute);
    const second = await start(clock, store);
    await clock.advance(0);
    expect(second.current().certificate).not.toBe(before);
    expect(inspect(second.current().certificate).notAfter).toBeGreaterThan(clock.now());
  });

  const refusals = [
    {
      reason: 'an authority that lives hardly longer than its leaves',
      over: { authorityMilliseconds: 10 * minute },
      code: 'config/certificate-lives',
    },
    { reason: 'no name to serve', over: { names: [] }, code: 'config/certificate-names' },
  ];
  it.each(refusals)('refuses $reason', async ({ over, code }) => {
    await expect(start(new FakeClock(), memoryStore(), over)).rejects.toMatchObject({ code });
  });
});

describe('a damaged store', () => {
  it('is repaired from the served certificates when it is deleted, and nothing is rotated', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const lost = { material: false };
    const authority = await start(clock, {
      ...store,
      readMaterial: async () => {
        const stored = await store.readMaterial();
        if (!lost.material) return stored;
        lost.material = false;
        // Reads as deleted, so the next write does not replace anything.
        return { value: undefined, version: stored.version };
      },
    });
    const before = authority.current().certificate;
    const { generation } = authority.bundle();
    lost.material = true;
    await clock.advance(minute);
    expect(authority.current().certificate).toBe(before);
    expect(authority.bundle().generation).toBeGreaterThan(generation);
  });

  it('rotates in order when the keys of the authorities are deleted', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const authority = await start(clock, store);
    const first = issuerOf(authority);
    await store.writeKeys([], (await store.readKeys()).version);
    await clock.advance(30_000);
    expect(issuerOf(authority)).toBe(first);
    expect(splitBundle(authority.bundle().pem)).toHaveLength(2);
    await clock.advance(5 * minute);
    expect(issuerOf(authority)).not.toBe(first);
    expect(splitBundle(authority.bundle().pem)).toHaveLength(1);
  });

  it('adopts certificates that another writer stored, and keeps the served ones trusted until then', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const bundles: Bundle[] = [];
    const authority = await start(clock, store, {
      publish: async (bundle) => {
        bundles.push(bundle);
        return { before: bundle, held: bundle };
      },
    });
    const ours = issuerOf(authority) ?? '';
    const validity = { now: clock.now(), validMilliseconds: 80 * minute, backdateMilliseconds: minute };
    const foreign = issueAuthority(validity);
    const material = {
      generation: 1,
      leaf: issueLeaf(foreign, { ...validity, names: ['localhost'] }),
      bundle: [foreign.certificate],
      signing: inspect(foreign.certificate).fingerprint,
    };
    const already = bundles.length;
    await store.writeMaterial(material, (await store.readMaterial()).version);
    await clock.advance(30_000);
    expect(bundles.slice(already).every(({ pem }) => pem.includes(ours))).toBe(true);
    expect(issuerOf(authority)).toBe(ours);
    await clock.advance(10 * minute);
    expect(issuerOf(authority)).not.toBe(ours);
  });

  it('never logs a key, whatever fails', async () => {
    const lines: string[] = [];
    const write = (message: string, fields?: object) => void lines.push(`${message} ${JSON.stringify(fields)}`);
    const log: Logger = { ...silentLogger, debug: write, info: write, warn: write, error: write, with: () => log };
    const clock = new FakeClock();
    const store = memoryStore();
    const authority = await start(clock, store, { log });
    const { key } = authority.current();
    const stored = await store.readMaterial();
    if (stored.value === undefined) throw new Error('nothing is stored');
    const garbled = { ...stored.value, leaf: { ...stored.value.leaf, key: key.replace('MIG', 'XXX') } };
    await store.writeMaterial(garbled, stored.version);
    await clock.advance(70 * minute);
    expect(lines.some((line) => line.includes('stored certificates are unusable'))).toBe(true);
    expect(lines.filter((line) => line.includes('PRIVATE KEY') || line.includes(key.slice(60, 100)))).toEqual([]);
  });
});

describe('several replicas', () => {
  it('converge on one authority and one leaf when they start simultaneously', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const replicas = await Promise.all(['a', 'b', 'c', 'd'].map((identity) => start(clock, store, { identity })));
    await clock.advance(minute);
    expect(new Set(replicas.map((replica) => replica.current().certificate)).size).toBe(1);
    expect(splitBundle(replicas[0]?.bundle().pem ?? '')).toHaveLength(1);
    expect((await store.readKeys()).value).toHaveLength(1);
  });

  it('keep the old authority until the last replica has switched or vanished', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const authority = await start(clock, store);
    const { signing } = (await store.readMaterial()).value ?? { signing: '' };
    // Another replica has reported the authority that it serves and then hangs.
    await store.report('hangs', signing);
    await store.writeKeys([], (await store.readKeys()).version);
    await clock.advance(3 * minute);
    expect(inspect(issuerOf(authority) ?? '').fingerprint).not.toBe(signing);
    expect(splitBundle(authority.bundle().pem)).toHaveLength(2);
    await clock.advance(6 * minute);
    expect(splitBundle(authority.bundle().pem)).toHaveLength(1);
    expect((await store.readReports()).map(({ identity }) => identity)).toEqual(['one']);
  });

  it('do not replace the leaf of each other when their names differ', async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const one = await start(clock, store, { identity: 'one', names: ['one.test'] });
    await start(clock, store, { identity: 'two', names: ['two.test'] });
    await clock.advance(minute);
    const settled = one.current().certificate;
    await clock.advance(4 * minute);
    expect(one.current().certificate).toBe(settled);
    expect(inspect(settled).names).toEqual(expect.arrayContaining(['one.test', 'two.test']));
  });

  it('do not wait for a stopped replica', async () => {
    const store = memoryStore();
    const authority = await start(new FakeClock(), store);
    expect(await store.readReports()).toHaveLength(1);
    await authority.stop();
    expect(await store.readReports()).toEqual([]);
  });
});

describe('certificates in a directory', () => {
  it('are the same after a restart, with keys that only their owner can read', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'kidp-certificates-'));
    try {
      const clock = new FakeClock();
      const first = await start(clock, directoryStore(directory));
      await first.stop();
      const second = await start(clock, directoryStore(directory));
      expect(second.current()).toEqual(first.current());
      expect(await readFile(join(directory, 'ca.crt'), 'utf8')).toBe(second.bundle().pem);
      for (const file of ['serving.json', 'authorities.json']) {
        expect((await stat(join(directory, file))).mode & 0o077).toBe(0);
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  const broken = [
    { reason: 'cut off in the middle', text: '{"tls.crt": "-----BEGIN' },
    { reason: 'empty', text: '' },
    { reason: 'something else', text: '[1, 2]' },
    { reason: 'without a certificate in it', text: '{"tls.crt": "x", "tls.key": "y", "ca.crt": "z"}' },
  ];
  it.each(broken)('are re-created if a file is $reason', async ({ text }) => {
    const directory = await mkdtemp(join(tmpdir(), 'kidp-certificates-'));
    try {
      await writeFile(join(directory, 'serving.json'), text);
      await writeFile(join(directory, 'authorities.json'), text);
      const authority = await start(new FakeClock(), directoryStore(directory));
      expect(issuerOf(authority)).toBeDefined();
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});
