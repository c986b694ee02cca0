/** With a client that counts: what is asked, how often, and what is remembered. On a real API server: test/security/metrics.test.ts. */
import { expect, test } from 'vitest';
import type { Client } from '../client/client.ts';
import { silentLogger } from '../telemetry/logger.ts';
import { FakeClock } from '../testing/index.ts';
import { reviewedAccess, tokenAccess } from './metrics-access.ts';

function asking() {
  const clock = new FakeClock();
  const asked: string[] = [];
  const state = { failing: false };
  const client = {
    async create({ plural }: { plural: string }, { spec }: { spec: { token?: string; user?: string } }) {
      if (state.failing) throw new Error('away');
      asked.push(plural);
      if (spec.token !== undefined)
        return { status: { authenticated: spec.token !== 'bad', user: { username: spec.token } } };
      return { status: { allowed: spec.user === 'good' } };
    },
  } as unknown as Pick<Client, 'create'>;
  const access = reviewedAccess({ client, log: silentLogger, clock });
  const status = async (token?: string) =>
    (await access(token === undefined ? token : `Bearer ${token}`))?.status ?? 200;
  return { clock, asked, state, status, access };
}

test.each([
  { reason: 'nothing', authorization: undefined },
  { reason: 'another scheme', authorization: 'Basic YTpi' },
  { reason: 'no token', authorization: 'Bearer ' },
  { reason: 'two tokens', authorization: 'Bearer a b' },
  { reason: 'a token without end', authorization: `Bearer ${'x'.repeat(20_000)}` },
])('$reason is refused without asking the API server', async ({ authorization }) => {
  const { access, asked } = asking();
  expect(await access(authorization)).toMatchObject({ status: 401 });
  expect(asked).toEqual([]);
});

test('answers are remembered for a while: allowed, forbidden and unknown tokens', async () => {
  const { status, asked, clock } = asking();
  for (let times = 0; times < 3; times += 1) {
    expect([await status('good'), await status('other'), await status('bad')]).toEqual([200, 403, 401]);
  }
  expect(asked).toHaveLength(5);
  await clock.advance(61_000);
  expect(await status('good')).toBe(200);
  expect(asked).toHaveLength(7);
});

test('made-up tokens cost the API server little, fill no memory, and hold up no token that was allowed before', async () => {
  const { status, asked, clock } = asking();
  expect(await status('good')).toBe(200);
  await clock.advance(61_000);
  const answers = await Promise.all(Array.from({ length: 1000 }, (_, index) => status(`made-up-${index}`)));
  expect(answers.filter((each) => each === 429).length).toBeGreaterThanOrEqual(985);
  expect(asked.length).toBeLessThan(30);
  expect(await status('good')).toBe(200);
});

test('while the API server cannot be asked, nobody gets in', async () => {
  const { status, state } = asking();
  state.failing = true;
  expect(await status('good')).toBe(503);
});

test('without an API server a token of the administrator is compared', async () => {
  const access = tokenAccess(() => 'secret');
  expect(await access('Bearer secret')).toBeUndefined();
  for (const wrong of [undefined, 'Bearer secre', 'Bearer secret2'])
    expect(await access(wrong)).toMatchObject({ status: 401 });
});
