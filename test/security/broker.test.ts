/** A broker with keys of its own that reports about what it does not have, and tokens and reports that are forged or replayed. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { Registry } from 'prom-client';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Broker, broker as brokerKind } from '../../src/api/index.ts';
import {
  brokerVerifier,
  findBroker,
  heartbeatEvent,
  type RequestEvent,
  STATUS_SCOPE,
  type StatusApi,
  type StatusReport,
  startStatusApi,
  statusEvent,
} from '../../src/broker/index.ts';
import { Reflector, silentLogger } from '../../src/runtime/index.ts';
import { type Platform, startPlatform } from '../admission/support/platform.ts';
import {
  addBroker,
  addTarget,
  deployable,
  kindOf,
  type Objects,
  objectsIn,
  obliging,
  type Running,
  StageBroker,
  startReconcilers,
} from '../deployable/support/stage.ts';

const namespace = 'team-backend';
/** `azure` has the Database; `mallory` is a Broker of the platform too, and has none. */
const keys: Record<string, KeyObject> = {};
let platform: Platform;
let running: Running;
let reflector: Reflector<Broker>;
let api: StatusApi;
let objects: Objects;
let deployed: RequestEvent;

beforeAll(async () => {
  platform = await startPlatform();
  const { client } = platform;
  for (const name of ['azure', 'mallory']) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    keys[name] = privateKey;
    const key = JSON.stringify({ ...publicKey.export({ format: 'jwk' }), kid: `${name}-1`, alg: 'EdDSA', use: 'sig' });
    await addBroker(client, name, { identity: { publicKeys: [key] } });
  }
  await addTarget(client, 'target', 'azure');
  reflector = new Reflector<Broker>({ client, resource: brokerKind.resource });
  reflector.start();
  await reflector.synced();
  const stage = new StageBroker('azure');
  stage.answers = obliging;
  running = await startReconcilers(client, stage);
  api = await startStatusApi({
    verifier: brokerVerifier({
      broker: (identity) => findBroker(reflector.store.list(), identity),
      audience: 'kidp',
      log: silentLogger,
    }),
    sink: running.sink,
    jwks: () => ({ keys: [] }),
    registry: new Registry(),
    log: silentLogger,
  });
  objects = objectsIn(client, namespace);
  await client.create(kindOf('Database').resource, deployable('Database', 'orders', namespace));
  deployed = await stage.newestOf(await objects.until('Database', 'orders', ({ status }) => status?.phase === 'ready'));
});
afterAll(async () => {
  await api?.stop();
  await running?.stop();
  await reflector?.stop();
  await platform?.stop();
});

const now = () => Math.floor(Date.now() / 1000);
/** A token as the contract says, but for the changes. */
function token(from: string, changes: object = {}, { signer = from, kid = `${from}-1` } = {}): Promise<string> {
  const claims = { iss: from, sub: from, aud: 'kidp', scope: STATUS_SCOPE, iat: now(), exp: now() + 300, ...changes };
  return new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', kid }).sign(keys[signer] as KeyObject);
}

/** A report that would change the Database: its password server would be the attacker's. */
const report = (changes: Partial<StatusReport> = {}) => {
  const { deploymentId, resource } = deployed.data;
  const outputs = { host: 'evil.example.com' };
  return statusEvent({
    broker: 'azure',
    deploymentId,
    resource,
    sequence: 1000,
    phase: 'ready',
    outputs,
    ...changes,
  });
};
const elsewhere = (changes: object) => ({ resource: { ...deployed.data.resource, ...changes } });

async function post(bearer: string | undefined, body: unknown) {
  const { statusCode, body: answer } = await request(`${api.url}/v1/status`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    },
    body: JSON.stringify(body),
  });
  return { status: statusCode, body: (await answer.json()) as Record<string, unknown> };
}
const stored = async () => (await objects.get('Database', 'orders')).metadata.resourceVersion;

interface Row {
  readonly reason: string;
  readonly bearer?: () => Promise<string | undefined> | string;
  readonly body?: () => unknown;
  readonly status: number;
  readonly code?: string;
}

const others: Row[] = [
  { reason: 'under its own name', body: () => report({ broker: 'mallory' }), status: 403, code: 'wrong-broker' },
  { reason: 'under the name of the broker that has it', body: () => report(), status: 403, code: 'wrong-broker' },
  {
    reason: 'that it was deleted, so that the object goes and the database stays',
    body: () => report({ broker: 'mallory', phase: 'deleted' }),
    status: 403,
    code: 'wrong-broker',
  },
  {
    reason: 'with credentials, which would become its connection Secret',
    body: () => report({ broker: 'mallory', credentials: { revision: '1', jwe: 'a..b.c.d' } }),
    status: 403,
    code: 'wrong-broker',
  },
  {
    reason: 'under a uid that does not exist',
    body: () => report({ broker: 'mallory', deploymentId: 'other/1/1', ...elsewhere({ uid: 'other' }) }),
    status: 404,
    code: 'unknown-object',
  },
  {
    reason: 'of a kind that is not deployed',
    body: () => report({ broker: 'mallory', ...elsewhere({ kind: 'Team' }) }),
    status: 422,
  },
  {
    reason: 'that the other broker is alive',
    body: () => heartbeatEvent({ broker: 'azure', version: '1', capabilities: ['Database'] }),
    status: 403,
    code: 'wrong-broker',
  },
];

describe('a broker reports about the Database of another one', () => {
  test.each(others)('$reason: $status', async ({ body, status, code }) => {
    const before = await stored();
    const answer = await post(await token('mallory'), body?.());
    expect(answer).toMatchObject({ status, body: code === undefined ? {} : { code } });
    expect(JSON.stringify(answer.body)).not.toContain('orders.example.com');
    expect(await stored()).toBe(before);
  });

  test('in one batch with others: each is refused on its own', async () => {
    const before = await stored();
    const { status, body } = await post(await token('mallory'), [report(), report({ broker: 'mallory' })]);
    expect({ status, body }).toMatchObject({
      status: 202,
      body: {
        results: [
          { result: 'refused', code: 'wrong-broker' },
          { result: 'refused', code: 'wrong-broker' },
        ],
      },
    });
    expect(await stored()).toBe(before);
  });
});

describe('a forged token of the broker that has it', () => {
  test.each<Row>([
    { reason: 'none', bearer: async () => undefined, status: 401 },
    { reason: 'signed by another broker', bearer: () => token('azure', {}, { signer: 'mallory' }), status: 401 },
    {
      reason: 'signed by another broker under its own key id',
      bearer: () => token('azure', {}, { signer: 'mallory', kid: 'mallory-1' }),
      status: 401,
    },
    {
      reason: 'alg none',
      bearer: () =>
        new UnsecuredJWT({ scope: STATUS_SCOPE })
          .setIssuer('azure')
          .setSubject('azure')
          .setAudience('kidp')
          .setIssuedAt()
          .setExpirationTime('5m')
          .encode(),
      status: 401,
    },
    { reason: 'expired', bearer: () => token('azure', { iat: now() - 600, exp: now() - 60 }), status: 401 },
    { reason: 'of tomorrow', bearer: () => token('azure', { nbf: now() + 3000, exp: now() + 3300 }), status: 401 },
    { reason: 'that lives for a year', bearer: () => token('azure', { exp: now() + 31_536_000 }), status: 401 },
    { reason: 'for another audience', bearer: () => token('azure', { aud: 'azure' }), status: 401 },
    { reason: 'another subject', bearer: () => token('azure', { sub: 'mallory' }), status: 401 },
    { reason: 'another issuer', bearer: () => token('azure', { iss: 'mallory' }), status: 401 },
    { reason: 'another scope', bearer: () => token('azure', { scope: 'deployments:write' }), status: 403 },
  ])('$reason: $status', async ({ bearer, status }) => {
    const before = await stored();
    expect(await post(await bearer?.(), report())).toMatchObject({ status });
    expect(await stored()).toBe(before);
  });
});

test('the broker that has it is believed once; replayed, out of order or about a deployment that never was, it is not', async () => {
  const bearer = await token('azure');
  const said = report({ outputs: { host: 'moved.example.com' } });
  expect(await post(bearer, said)).toMatchObject({ status: 202, body: { result: 'applied' } });
  const { status } = await objects.get('Database', 'orders');
  expect(status).toMatchObject({ outputs: { host: 'moved.example.com' } });
  const before = await stored();
  const { uid } = deployed.data.resource;
  for (const { reason, event, answer } of [
    { reason: 'the same bytes again', event: said, answer: { status: 202, body: { result: 'duplicate' } } },
    {
      reason: 'its id with another content',
      event: { ...report(), id: said.id },
      answer: { status: 202, body: { result: 'duplicate' } },
    },
    {
      reason: 'an earlier one, kept and sent now',
      event: report({ sequence: 2 }),
      answer: { status: 202, body: { result: 'stale' } },
    },
    {
      reason: 'a deployment that was never dispatched',
      event: report({ deploymentId: `${uid}/9/1` }),
      answer: { status: 409, body: { code: 'unknown-deployment' } },
    },
  ]) {
    expect({ reason, ...(await post(bearer, event)) }).toMatchObject(answer);
    expect({ reason, version: await stored() }).toEqual({ reason, version: before });
  }
});
