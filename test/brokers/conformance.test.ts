/** The conformance suite: a correct broker passes it, and each check fails for a broker that breaks its rule. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CheckResult, type KeyRing, verifyBroker } from '../../src/broker/index.ts';
import { freePort } from '../../src/controlplane/ports.ts';
import { brokerKeys } from './support/platform.ts';
import { type Fault, startPretendBroker } from './support/pretend-broker.ts';

const name = 'pretender';
let keys: KeyRing;
let stranger: KeyRing;

beforeAll(async () => {
  [keys, stranger] = await Promise.all([brokerKeys(name), brokerKeys(name)]);
});
afterAll(() => {
  keys.close();
  stranger.close();
});

async function verify(faults: readonly Fault[], timeoutMilliseconds: number): Promise<CheckResult[]> {
  // The suite shows the platform's keys where it takes reports, so its address is what the broker trusts.
  const port = await freePort();
  const platform = { jwks: `http://127.0.0.1:${port}/.well-known/jwks.json` };
  const broker = await startPretendBroker(name, keys, platform, new Set(faults), stranger);
  try {
    return await verifyBroker({ url: broker.url, listen: { port }, timeoutMilliseconds });
  } finally {
    await broker.stop();
  }
}

const failed = (results: readonly CheckResult[]) =>
  results.filter(({ result }) => result === 'fail').map(({ id }) => id);
let all: string[] = [];

test('a broker that keeps the contract passes', async () => {
  const results = await verify([], 60_000);
  all = results.map(({ id }) => id);
  expect(results.filter(({ result }) => result === 'fail')).toEqual([]);
});

const tokens = [
  'missing',
  'forged',
  'unknown-key',
  'no-key-id',
  'expired',
  'early',
  'wrong-audience',
  'wrong-issuer',
  'missing-scope',
  'none',
  'hs256',
];
/** Short where what is waited for never comes; otherwise as long as a slow machine may take. */
const never = 400;
const cases: { faults: Fault[]; fails: string[]; reason: string; patience: number }[] = [
  {
    faults: [
      'no-version',
      'shows-a-secret-key',
      'open-metrics',
      'believes-anybody',
      'takes-anything',
      'loses-the-trace',
    ],
    fails: [
      'health',
      'jwks',
      'metrics',
      ...tokens.map((each) => `token-${each}`),
      'malformed',
      'unknown-version',
      'wrong-broker',
      'contradiction',
      'oversized',
      'trace',
      'record',
    ],
    patience: 60_000,
    reason: 'it shows too much, and takes everything from anybody',
  },
  {
    faults: ['takes-more-than-once'],
    fails: ['deploy-once', 'duplicate', 'delete-twice'],
    patience: 60_000,
    reason: 'it does things twice',
  },
  { faults: ['fails'], fails: ['ready', 'order', 'query'], patience: never, reason: 'nothing ever works' },
  {
    faults: ['encrypts-to-nobody', 'is-open'],
    fails: ['credentials', 'record'],
    patience: 60_000,
    reason: 'credentials that nobody can read, records that anybody can',
  },
  {
    faults: ['is-silent-when-asked-again', 'says-nothing-new'],
    fails: ['duplicate', 'query', 'delete-twice'],
    patience: never,
    reason: 'it says things once',
  },
  {
    faults: ['has-no-order', 'knows-no-absence'],
    fails: ['order', 'query-unknown', 'no-return'],
    patience: never,
    reason: 'the last to come wins',
  },
  {
    faults: ['never-deletes'],
    fails: ['delete', 'delete-unknown'],
    patience: never,
    reason: 'it keeps what it should delete',
  },
  { faults: ['counts-backwards'], fails: ['query', 'sequence'], patience: 3_000, reason: 'its sequence does not rise' },
  {
    faults: ['signs-with-another-key'],
    fails: ['ready', 'duplicate', 'order', 'query', 'query-unknown', 'delete', 'delete-twice', 'delete-unknown'],
    patience: never,
    reason: 'nobody believes what it reports',
  },
];

test.each(cases)('a broker fails where it breaks the contract: $reason', async ({ faults, fails, patience }) => {
  expect(failed(await verify(faults, patience))).toEqual(expect.arrayContaining(fails));
});

test('every check was seen to fail', () => {
  const shown = new Set(cases.flatMap(({ fails }) => fails));
  expect(all.filter((id) => !shown.has(id))).toEqual([]);
});

test('where there is no broker, that is said', async () => {
  const port = await freePort();
  await expect(verifyBroker({ url: `http://127.0.0.1:${port}` })).rejects.toMatchObject({ code: 'config/no-broker' });
});
