import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLogger } from '../../../runtime/index.ts';
import { issueAuthority, issueLeaf } from '../../../runtime/internal.ts';
import { webhookCertificate } from './certificate-files.ts';

const hour = 3_600_000;
let directory: string;
beforeEach(() => {
  vi.useFakeTimers();
  directory = mkdtempSync(join(tmpdir(), 'webhook-tls-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true });
});

/** As cert-manager writes them. */
function write(at: number) {
  const validity = { now: at, validMilliseconds: hour, backdateMilliseconds: 0 };
  const authority = issueAuthority(validity);
  const leaf = issueLeaf(authority, { ...validity, names: ['kidp.kidp-system.svc'] });
  writeFileSync(join(directory, 'tls.crt'), leaf.certificate);
  writeFileSync(join(directory, 'tls.key'), leaf.key);
  writeFileSync(join(directory, 'ca.crt'), authority.certificate);
  return { leaf, ca: `${authority.certificate.trim()}\n` };
}

test('the API server trusts the CA before and after it is replaced, until the old one expires', () => {
  const before = write(Date.now());
  const source = webhookCertificate(directory, silentLogger);
  const changed = vi.fn();
  const unsubscribe = source.subscribe(changed);
  expect(source.current().certificate).toBe(before.leaf.certificate);
  const { pem, generation } = source.bundle();
  expect(pem).toBe(before.ca);

  vi.advanceTimersByTime(hour / 2);
  const after = write(Date.now());
  vi.advanceTimersByTime(10_000);
  expect(changed).toHaveBeenCalledOnce();
  expect(source.current().certificate).toBe(after.leaf.certificate);
  expect(source.bundle().pem).toBe(`${after.ca}${before.ca}`);
  expect(source.bundle().generation).toBeGreaterThan(generation);

  vi.advanceTimersByTime(hour / 2);
  expect(source.bundle().pem).toBe(after.ca);
  unsubscribe();
});

test('files that cannot be read keep the last certificate in use', () => {
  const { leaf } = write(Date.now());
  const source = webhookCertificate(directory, silentLogger);
  const unsubscribe = source.subscribe(() => {});
  writeFileSync(join(directory, 'tls.crt'), 'half written');
  vi.advanceTimersByTime(10_000);
  expect(source.current().certificate).toBe(leaf.certificate);
  unsubscribe();
});

test('a certificate without its CA is bad input', () => {
  write(Date.now());
  writeFileSync(join(directory, 'ca.crt'), '');
  expect(() => webhookCertificate(directory, silentLogger)).toThrow(/ca\.crt holds no certificate: it must contain/);
});
