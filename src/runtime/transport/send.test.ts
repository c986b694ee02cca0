import { describe, expect, it } from 'vitest';
import { Lost } from './exchange.ts';
import { type Call, openSender } from './send.ts';

const failed = (code: string) => Object.assign(new Error(code), { code });

/** How often it was tried where each of these happened before the answer. */
async function triesOf(call: Partial<Call>, ...losses: readonly Lost[]): Promise<number> {
  let tries = 0;
  const left = [...losses];
  const sender = openSender(
    { server: 'https://127.0.0.1:1', source: 'a test' },
    { use: () => ({ credentials: {} }) } as never,
    {
      retries: 0,
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
      const loss = left.shift();
      if (loss !== undefined) throw loss;
      return { status: 200, headers: {} };
    })
    .catch(() => {});
  return tries;
}

describe('a request that is lost is sent once more', () => {
  const rows = [
    { reason: 'no connection came about in time', loss: new Lost(failed('ETIMEDOUT'), false, false), tries: 2 },
    {
      reason: 'the connection was closed before it was sent',
      loss: new Lost(failed('ECONNRESET'), false, false),
      tries: 2,
    },
    { reason: 'it may have been carried out', loss: new Lost(failed('ECONNRESET'), true, false), tries: 1 },
    { reason: 'the answer did not come in time', loss: new Lost(failed('ETIMEDOUT'), true, false), tries: 1 },
    { reason: 'nobody listens', loss: new Lost(failed('ECONNREFUSED'), false, false), tries: 1 },
  ];
  it.each(rows)('or not, where $reason: $tries', async ({ loss, tries }) => {
    expect(await triesOf({}, loss)).toBe(tries);
  });

  it('and not for ever', async () => {
    const loss = () => new Lost(failed('ETIMEDOUT'), false, false);
    expect(await triesOf({}, loss(), loss(), loss())).toBe(2);
  });

  it('also where it may have been carried out, and that does no harm', async () => {
    expect(await triesOf({ idempotent: true }, new Lost(failed('ECONNRESET'), true, false))).toBe(2);
  });
});
