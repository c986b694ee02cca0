import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { CompactEncrypt, importJWK } from 'jose';
import { afterAll, describe, expect, test } from 'vitest';
import { FakeClock } from '../../runtime/testing/index.ts';
import { FleetError } from '../contract.ts';
import { newKeySet, readKeyRing, readSealingKey } from './key-ring.ts';
import { keysFromCommand, keysFromFile } from './key-source.ts';
import { openKubeconfig, sealKubeconfig } from './seal.ts';

const directory = mkdtempSync(join(tmpdir(), 'kidp-seal-test-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const failureOf = async (work: Promise<unknown>): Promise<FleetError> => {
  const error = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(FleetError);
  return error as FleetError;
};

describe('a sealed kubeconfig', () => {
  test('opens for its Cluster with its key', async () => {
    const ring = await readKeyRing(await newKeySet(), 'a test');
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', maxLength: 2000 }),
        fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/),
        async (text, cluster) => {
          const sealed = await sealKubeconfig(ring.sealing, cluster, text);
          expect(await openKubeconfig(ring, cluster, sealed)).toEqual({ kubeconfig: text, keyId: ring.sealing.id });
        },
      ),
      { numRuns: 50 },
    );
  });

  test('does not open if any character was changed', async () => {
    const ring = await readKeyRing(await newKeySet(), 'a test');
    const sealed = await sealKubeconfig(ring.sealing, 'production', 'token: secret-word');
    await fc.assert(
      fc.asyncProperty(fc.nat(sealed.length - 1), fc.constantFrom('A', 'b', '0', '_', '.'), async (at, character) => {
        const changed = `${sealed.slice(0, at)}${character}${sealed.slice(at + 1)}`;
        // The last character of a part of base64 has bits that mean nothing.
        fc.pre(
          changed !== sealed &&
            sealed[at] !== '.' &&
            character !== '.' &&
            sealed[at + 1] !== '.' &&
            at + 1 < sealed.length,
        );
        const { code, message } = await failureOf(openKubeconfig(ring, 'production', changed));
        expect(['cluster/tampered', 'cluster/key-missing']).toContain(code);
        expect(message).not.toContain('secret-word');
      }),
      { numRuns: 100 },
    );
  });

  test('is refused for another Cluster, and where the header was made to say so', async () => {
    const ring = await readKeyRing(await newKeySet(), 'a test');
    const sealed = await sealKubeconfig(ring.sealing, 'staging', 'x');
    expect((await failureOf(openKubeconfig(ring, 'production', sealed))).code).toBe('cluster/tampered');
    const [head = '', ...rest] = sealed.split('.');
    const header = { ...JSON.parse(Buffer.from(head, 'base64url').toString()), cluster: 'production' };
    const forged = [Buffer.from(JSON.stringify(header)).toString('base64url'), ...rest].join('.');
    expect((await failureOf(openKubeconfig(ring, 'production', forged))).code).toBe('cluster/tampered');
  });

  test.each([
    { header: { alg: 'ECDH-ES', enc: 'A256GCM' }, reason: 'another way of wrapping the key' },
    { header: { alg: 'ECDH-ES+A256KW', enc: 'A128GCM' }, reason: 'a weaker cipher' },
    { header: { alg: 'ECDH-ES+A256KW', enc: 'A256GCM', typ: 'JWE' }, reason: 'sealed for something else' },
    { header: { alg: 'ECDH-ES+A256KW', enc: 'A256GCM', cluster: undefined }, reason: 'for no Cluster' },
  ])('is refused: $reason', async ({ header }) => {
    const ring = await readKeyRing(await newKeySet(), 'a test');
    const all = { typ: 'kidp-kubeconfig', kid: ring.sealing.id, cluster: 'production', ...header };
    const sealed = await new CompactEncrypt(Buffer.from('x'))
      .setProtectedHeader(JSON.parse(JSON.stringify(all)))
      .encrypt(await importJWK(ring.sealing.jwk, header.alg));
    expect((await failureOf(openKubeconfig(ring, 'production', sealed))).code).toBe('cluster/tampered');
  });

  test.each([
    '',
    'x',
    'a.b.c.d',
    'a.b.c.d.e',
    '....',
    'e30.a.b.c.d',
    'bnVsbA.a.b.c.d',
  ])('is refused: %j', async (sealed) => {
    const ring = await readKeyRing(await newKeySet(), 'a test');
    expect((await failureOf(openKubeconfig(ring, 'production', sealed))).code).toBe('cluster/tampered');
  });
});

describe('keys', () => {
  test('the newest seals, older ones still open', async () => {
    const first = await newKeySet();
    const before = await readKeyRing(first, 'a test');
    const sealed = await sealKubeconfig(before.sealing, 'production', 'x');
    const after = await readKeyRing(await newKeySet(first), 'a test');
    expect(after.sealing.id).not.toBe(before.sealing.id);
    expect(await openKubeconfig(after, 'production', sealed)).toMatchObject({ keyId: before.sealing.id });
    const others = await readKeyRing(await newKeySet(), 'a test');
    expect((await failureOf(openKubeconfig(others, 'production', sealed))).code).toBe('cluster/key-missing');
  });

  test('the published key is public and seals', async () => {
    const ring = await readKeyRing(await newKeySet(), 'a test');
    const published = await readSealingKey(JSON.stringify(ring.sealing.jwk));
    expect(JSON.stringify(ring.sealing.jwk)).not.toContain('"d"');
    const sealed = await sealKubeconfig(published as NonNullable<typeof published>, 'production', 'x');
    expect(await openKubeconfig(ring, 'production', sealed)).toMatchObject({ kubeconfig: 'x' });
  });

  test('a private key is never published', async () => {
    const { keys } = JSON.parse(await newKeySet());
    expect(await readSealingKey(JSON.stringify(keys[0]))).toBeUndefined();
  });

  const key = { kty: 'OKP', crv: 'X25519', x: 'secretx', d: 'secretd' };
  test.each([
    { text: 'secretd', says: 'is not JSON', reason: 'no JSON' },
    { text: '[]', says: 'not JSON with a list', reason: 'no key set' },
    { text: '{"keys":[]}', says: 'contains no key', reason: 'nothing to seal with' },
    {
      text: JSON.stringify({ keys: [{ ...key, d: undefined }] }),
      says: 'keys[0] has no private part',
      reason: 'only public',
    },
    {
      text: JSON.stringify({ keys: [{ ...key, crv: 'Ed25519' }] }),
      says: 'keys[0] is neither',
      reason: 'a key for signatures',
    },
    { text: JSON.stringify({ keys: [{ ...key, use: 'sig' }] }), says: 'not for encryption', reason: 'for signatures' },
    {
      text: JSON.stringify({ keys: [{ ...key, alg: 'RSA-OAEP' }] }),
      says: 'another algorithm',
      reason: 'another algorithm',
    },
    {
      text: JSON.stringify({ keys: [{ ...key, kid: 'a b' }] }),
      says: 'id (kid)',
      reason: 'an id that no header may have',
    },
    {
      text: JSON.stringify({ keys: [key, key] }),
      says: 'keys[1] has a duplicate id',
      reason: 'twice the same',
    },
  ])('are rejected, and nothing is quoted: $reason', async ({ text, says }) => {
    const error = await readKeyRing(text, 'keys.json').catch((reason: unknown) => reason);
    expect(String(error)).toContain(says);
    expect(String(error)).not.toMatch(/secret[dx]/);
  });
});

describe('a file of keys', () => {
  test('is re-read when it changes, and the last keys are used if that fails', async () => {
    const path = join(directory, 'keys.json');
    const first = await newKeySet();
    writeFileSync(path, first, { mode: 0o600 });
    const keys = keysFromFile(path);
    const { id } = (await keys.current()).sealing;
    writeFileSync(path, `${await newKeySet(first)} `, { mode: 0o600 });
    const next = (await keys.current()).sealing.id;
    expect(next).not.toBe(id);
    writeFileSync(path, '{"keys":');
    expect((await keys.current()).sealing.id).toBe(next);
    rmSync(path);
    expect((await keys.current()).sealing.id).toBe(next);
  });

  test('that is world-readable is rejected, unless there is no other user', async () => {
    const path = join(directory, 'open.json');
    writeFileSync(path, await newKeySet());
    chmodSync(path, 0o644);
    await expect(keysFromFile(path).current()).rejects.toThrow('are readable by every user');
    expect((await keysFromFile(path, { isAlone: true }).current()).sealing.id).not.toBe('');
  });

  test('that does not exist is reported with a hint', async () => {
    await expect(keysFromFile(join(directory, 'none')).current()).rejects.toThrow('kidp clusters keygen');
  });
});

describe('a program for keys', () => {
  const program = (script: string) => {
    const path = join(directory, `hook-${Math.random()}.sh`);
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
    return path;
  };

  test('is run again after a while, and its last keys are used if it fails', async () => {
    const clock = new FakeClock();
    const file = join(directory, 'hooked.json');
    writeFileSync(file, await newKeySet(), { mode: 0o600 });
    const keys = keysFromCommand([program('cat "$1"'), file], { clock });
    const first = (await keys.current()).sealing.id;
    writeFileSync(file, await newKeySet(), { mode: 0o600 });
    expect((await keys.current()).sealing.id).toBe(first);
    clock.jump(600_000);
    const second = (await keys.current()).sealing.id;
    expect(second).not.toBe(first);
    rmSync(file);
    clock.jump(600_000);
    expect((await keys.current()).sealing.id).toBe(second);
  });

  test.each([
    { script: 'echo secret-word >&2; exit 3', says: 'exited with code 3', reason: 'it fails' },
    { script: 'echo secret-word', says: 'not JSON', reason: 'it prints something else' },
    { script: 'exec yes secret-word', says: 'printed more than', reason: 'it does not stop' },
  ])('that fails is reported without its output: $reason', async ({ script, says }) => {
    const error = await keysFromCommand([program(script)])
      .current()
      .catch((reason: unknown) => reason);
    expect(String(error)).toContain(says);
    expect(String(error)).not.toContain('secret-word');
  });

  test('that does not exist is reported', async () => {
    await expect(keysFromCommand([join(directory, 'nothing')]).current()).rejects.toThrow(
      'could not be started (ENOENT)',
    );
  });
});
