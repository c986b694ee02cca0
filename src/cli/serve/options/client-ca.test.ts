import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { silentLogger } from '../../../runtime/index.ts';
import { issueAuthority } from '../../../runtime/internal.ts';
import { clientAuthority } from './client-ca.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
const pem = () => issueAuthority(validity).certificate;

describe('the client CA', () => {
  let file: string;
  beforeEach(() => {
    vi.useFakeTimers();
    file = join(mkdtempSync(join(tmpdir(), 'client-ca-')), 'ca.crt');
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('is reloaded when the file changes, and kept while the file is unreadable', () => {
    const [first, second] = [pem(), pem()];
    writeFileSync(file, first);
    const authority = clientAuthority({ clientCa: file, clientName: ['kube-apiserver'] }, silentLogger);
    const changed = vi.fn();
    const unsubscribe = authority?.subscribe(changed);
    expect(authority?.current()).toEqual({ ca: first, names: ['kube-apiserver'] });
    renameSync(file, `${file}.away`);
    vi.advanceTimersByTime(10_000);
    expect(authority?.current().ca).toBe(first);
    writeFileSync(file, second);
    vi.advanceTimersByTime(10_000);
    expect(authority?.current().ca).toBe(second);
    expect(changed).toHaveBeenCalledOnce();
    unsubscribe?.();
  });

  test.each([
    { reason: 'no file', flags: () => ({ clientCa: `${file}.none` }), code: 'input/client-ca' },
    { reason: 'names without a CA', flags: () => ({ clientName: ['a'] }), code: 'input/client-name' },
    {
      reason: 'a file without a certificate',
      flags: () => {
        writeFileSync(file, 'nothing');
        return { clientCa: file };
      },
      code: 'input/client-ca',
    },
  ])('$reason is bad input', ({ flags, code }) => {
    expect(() => clientAuthority(flags(), silentLogger)).toThrow(expect.objectContaining({ code }));
  });
});
