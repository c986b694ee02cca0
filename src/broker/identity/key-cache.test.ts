import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../runtime/testing/index.ts';
import type { KeySetAddress } from './fetch-key-set.ts';
import { keyCache } from './key-cache.ts';
import type { VerificationKey } from './public-keys.ts';

const { publicKey } = generateKeyPairSync('ed25519');
const minute = 60_000;

/** A key server whose answers the test decides about. */
function server() {
  const clock = new FakeClock();
  const state = { fetches: 0, keys: ['a'], down: false, failed: 0 };
  const cache = keyCache({
    clock,
    async fetch() {
      state.fetches += 1;
      const { keys, down } = state;
      await Promise.resolve();
      if (down) throw new Error('down');
      return new Map(
        keys.map((keyId): [string, VerificationKey] => [keyId, { keyId, algorithm: 'EdDSA', key: publicKey }]),
      );
    },
    onFetchFailed: () => {
      state.failed += 1;
    },
    most: 3,
  });
  const find = (keyId: string, address: KeySetAddress = { url: 'https://keys/jwks.json' }): Promise<string> =>
    cache.find(address, keyId).then(
      (key) => key.keyId,
      (error: { reason: string }) => error.reason,
    );
  return { clock, state, find };
}

describe('keys are fetched', () => {
  test('once, however many ask at the same time, and again when they are old', async () => {
    const { clock, state, find } = server();
    expect(await Promise.all([find('a'), find('a'), find('a')])).toEqual(['a', 'a', 'a']);
    expect(state.fetches).toBe(1);
    await clock.advance(4 * minute);
    await find('a');
    expect(state.fetches).toBe(1);
    await clock.advance(2 * minute);
    await find('a');
    expect(state.fetches).toBe(2);
  });

  test('at once if a key was added, so that a rotation rejects no message', async () => {
    const { state, find } = server();
    await find('a');
    state.keys = ['a', 'b'];
    expect(await find('b')).toBe('b');
    expect(state.fetches).toBe(2);
  });

  test('again for a lookup that joins a fetch in flight and does not find its key', async () => {
    const { state, find, clock } = server();
    const first = find('a');
    await clock.advance(1);
    state.keys = ['a', 'b'];
    expect(await Promise.all([first, find('b')])).toEqual(['a', 'b']);
  });

  test('only a few times for made-up key ids', async () => {
    const { clock, state, find } = server();
    for (let each = 0; each < 1000; each += 1) expect(await find(`made-up-${each}`)).toBe('unknown-key');
    expect(state.fetches).toBe(5);
    expect(await find('a')).toBe('a');
    await clock.advance(10_000);
    state.keys = ['a', 'b'];
    expect(await find('b')).toBe('b');
    expect(state.fetches).toBe(6);
  });
});

describe('if the keys cannot be fetched', () => {
  test('no signature is reported as forged', async () => {
    const { state, find } = server();
    state.down = true;
    expect(await find('a')).toBe('keys-unavailable');
    expect(state.failed).toBe(1);
  });

  test('cached keys stay valid for one hour', async () => {
    const { clock, state, find } = server();
    await find('a');
    state.down = true;
    await clock.advance(59 * minute);
    expect(await find('a')).toBe('a');
    expect(await find('b')).toBe('keys-unavailable');
    await clock.advance(2 * minute);
    expect(await find('a')).toBe('keys-unavailable');
  });

  test('fetches are limited to a few', async () => {
    const { clock, state, find } = server();
    state.down = true;
    for (let each = 0; each < 100; each += 1) await find('a');
    expect(state.fetches).toBe(5);
    state.down = false;
    await clock.advance(10_000);
    expect(await find('a')).toBe('a');
  });
});

test('after a failed fetch, only one caller waits for the retry', async () => {
  const clock = new FakeClock();
  const hanging = Promise.withResolvers<never>();
  let fetches = 0;
  const cache = keyCache({
    clock,
    async fetch() {
      fetches += 1;
      return fetches === 1 ? Promise.reject(new Error('down')) : hanging.promise;
    },
  });
  const find = () => cache.find({ url: 'https://keys' }, 'a').catch(({ reason }: { reason: string }) => reason);
  expect(await find()).toBe('keys-unavailable');
  const first = find();
  expect(await find()).toBe('keys-unavailable');
  expect(fetches).toBe(2);
  hanging.reject(new Error('down'));
  expect(await first).toBe('keys-unavailable');
});

test.each([
  { reason: 'a key that the sender does not publish', fetch: async () => new Map() },
  { reason: 'keys that cannot be fetched', fetch: () => Promise.reject(new Error('down')) },
])('the message to an unverified caller names no internal address: $reason', async ({ fetch }) => {
  const cache = keyCache({ clock: new FakeClock(), fetch });
  const error = await cache.find({ url: 'https://keys.internal:8443/jwks' }, 'a').catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('IdentityError');
  expect(String(error)).not.toContain('internal');
});

test('a revoked key is rejected after the next fetch', async () => {
  const { clock, state, find } = server();
  await find('a');
  state.keys = ['b'];
  await clock.advance(6 * minute);
  expect(await find('a')).toBe('unknown-key');
});

test('the number of cached key sets is limited', async () => {
  const { state, find } = server();
  for (let each = 0; each < 10; each += 1) await find('a', { url: `https://keys-${each}` });
  expect(state.fetches).toBe(10);
  await find('a', { url: 'https://keys-9' });
  expect(state.fetches).toBe(10);
  await find('a', { url: 'https://keys-0' });
  expect(state.fetches).toBe(11);
});

test('the keys of one authority are not those of another at the same address', async () => {
  const { state, find } = server();
  await find('a', { url: 'https://keys', caBundle: 'one' });
  await find('a', { url: 'https://keys', caBundle: 'two' });
  expect(state.fetches).toBe(2);
});
