import { describe, expect, it } from 'vitest';
import { Lost } from './exchange.ts';
import { type Call, openSender } from './send.ts';

const failed = (code: string) => Object.assign(new Error(code), { code });

interface PutOff {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns the number of attempts if each of these failures happens before the answer. */
async function triesOf(call: Partial<Call>, ...before: readonly (Lost | PutOff)[]): Promise<number> {
  let tries = 0;
  const left = [...before];
  const sender = openSender(
    { server: 'https://127.0.0.1:1', source: 'a test' },
    { use: () => ({ credentials: {} }) } as never,
    {
      retries: 2,
      timeoutMilliseconds: 60_000,
      maximumResponseBytes: 1,
      maximumEventBytes: 1,
      userAgent: 'test',
      onWarning: undefined,
    },
  );
  const asked: Call = { method: 'POST', path: '/', headers: [], doing: 'try', idempotent: false, ...call } as Call;
  await sender
    .persist(asked, async () => {
      tries += 1;
      const next = left.shift();
      if (next instanceof Lost) throw next;
      return next ?? { status: 200, headers: {} };
    })
    .catch(() => {});
  return tries;
}

describe('retries of a lost request', () => {
  const rows = [
    { reason: 'connecting timed out', loss: new Lost(failed('ETIMEDOUT'), false, false), tries: 2 },
    {
      reason: 'the connection was closed before it was sent',
      loss: new Lost(failed('ECONNRESET'), false, false),
      tries: 2,
    },
    { reason: 'it may have been executed', loss: new Lost(failed('ECONNRESET'), true, false), tries: 1 },
    { reason: 'the answer timed out', loss: new Lost(failed('ETIMEDOUT'), true, false), tries: 1 },
    { reason: 'connection refused', loss: new Lost(failed('ECONNREFUSED'), false, false), tries: 1 },
  ];
  it.each(rows)('$tries attempts: $reason', async ({ loss, tries }) => {
    expect(await triesOf({}, loss)).toBe(tries);
  });

  it('a limited number of times', async () => {
    const loss = () => new Lost(failed('ETIMEDOUT'), false, false);
    expect(await triesOf({}, loss(), loss(), loss())).toBe(2);
  });

  it('if it may have been executed but is idempotent', async () => {
    expect(await triesOf({ idempotent: true }, new Lost(failed('ECONNRESET'), true, false))).toBe(2);
  });
});

describe('retries of a throttled request', () => {
  const asked = { 'retry-after': '0' };
  const rows: readonly {
    reason: string;
    call: Partial<Call>;
    status: number;
    headers?: PutOff['headers'];
    tries: number;
  }[] = [
    { reason: 'too many requests: a read', call: { method: 'GET' }, status: 429, tries: 2 },
    { reason: 'too many requests: a create', call: {}, status: 429, tries: 2 },
    { reason: 'the storage of a CRD is being replaced: a create', call: {}, status: 503, tries: 2 },
    { reason: 'the storage of a CRD is being replaced: a deletion', call: { method: 'DELETE' }, status: 503, tries: 2 },
    { reason: '429 is a regular answer', call: { question: true }, status: 429, tries: 1 },
    { reason: 'no Retry-After', call: { method: 'GET' }, status: 503, headers: {}, tries: 1 },
    { reason: 'the server failed: it may have been executed', call: {}, status: 500, tries: 1 },
  ];
  it.each(rows)('$tries attempts: $reason', async ({ call, status, headers = asked, tries }) => {
    expect(await triesOf(call, { status, headers })).toBe(tries);
  });

  it('a limited number of times', async () => {
    const putOff = () => ({ status: 503, headers: asked });
    expect(await triesOf({}, putOff(), putOff(), putOff(), putOff())).toBe(3);
  });
});
