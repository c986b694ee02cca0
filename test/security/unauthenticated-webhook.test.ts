/** The webhook as others on the network meet it: it answers the API server, which has a client certificate, and nobody else. */
import { request } from 'node:https';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Admission, type AsyncGate, startAdmission } from '../../src/admission/index.ts';
import { database } from '../../src/api/index.ts';
import { type ClientAuthority, issueAuthority, issueLeaf, type KeyPair } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type Platform, startPlatform } from '../admission/support/platform.ts';
import { admissionReview, reviewedDatabase } from '../support/review.ts';
import { hold, postHead } from './support/attackers.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(validity);
const client = (commonName: string, over: object = {}, from = authority) =>
  issueLeaf(from, { ...validity, client: { commonName }, ...over });

const clients: ClientAuthority = {
  current: () => ({ ca: authority.certificate, names: ['kube-apiserver'] }),
  subscribe: () => () => {},
};

/** Records the callers of the reviews that reach the gates. */
const seen: unknown[] = [];
const recorder: AsyncGate = {
  name: 'recorder',
  matches: ({ caller }) => {
    seen.push(caller?.trusted);
    return false;
  },
  evaluate: async () => ({ violations: [], warnings: [], patches: [] }),
};

const forged = JSON.stringify(
  admissionReview({ object: reviewedDatabase('backend-team'), oldObject: reviewedDatabase('backend-team') }),
);

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly body?: string;
  readonly credentials?: KeyPair | undefined;
  readonly headers?: Record<string, string>;
}

function send({ url, caBundle }: Admission, { path = '/validate', method = 'POST', body, credentials, ...rest }: Sent) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(
      `${url}${path}`,
      {
        method,
        ca: caBundle,
        agent: false,
        headers: { 'content-type': 'application/json', ...rest.headers },
        ...(credentials === undefined ? {} : { cert: credentials.certificate, key: credentials.key }),
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('a webhook with a client CA', () => {
  let admission: Admission;
  beforeAll(async () => {
    admission = await startAdmission({ clients, extraGates: [recorder] });
  });
  afterAll(() => admission?.stop());

  const rows: { reason: string; credentials?: KeyPair; status: number; headers?: Record<string, string> }[] = [
    { reason: 'no certificate', status: 401 },
    { reason: 'no certificate, and a body in chunks', headers: { 'transfer-encoding': 'chunked' }, status: 401 },
    {
      reason: 'a certificate of another CA',
      credentials: client('kube-apiserver', {}, issueAuthority(validity)),
      status: 403,
    },
    { reason: 'another name of the same CA', credentials: client('kubelet'), status: 403 },
    { reason: 'a longer name', credentials: client('kube-apiserver-2'), status: 403 },
    {
      reason: 'an expired certificate',
      credentials: client('kube-apiserver', { now: Date.now() - 7_200_000 }),
      status: 403,
    },
    {
      reason: 'a serving certificate of the same CA',
      credentials: issueLeaf(authority, { ...validity, names: ['kube-apiserver'] }),
      status: 403,
    },
  ];
  test.each(rows)('refuses a review with $reason', async ({ credentials, status, headers = {} }) => {
    seen.length = 0;
    for (const path of ['/validate', '/mutate', '/validate/crds', '/validate/fail/converted/v1.autoscaling']) {
      const answer = await send(admission, { path, body: forged, credentials, headers });
      expect(answer.status).toBe(status);
      expect(answer.text).not.toMatch(/orders|backend-team|kube-apiserver/);
    }
    expect(seen).toEqual([]);
  });

  test('answers the API server, and passes on that it is trusted', async () => {
    seen.length = 0;
    const answer = await send(admission, { body: forged, credentials: client('kube-apiserver') });
    expect(answer).toMatchObject({ status: 200 });
    expect(seen[0]).toBe(true);
  });

  test('answers probes without a certificate, and with a wrong one', async () => {
    for (const credentials of [undefined, client('kubelet')]) {
      for (const path of ['/healthz', '/readyz'])
        expect(await send(admission, { path, method: 'GET', credentials })).toMatchObject({ status: 200 });
    }
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)('a resumed %s session is not a certificate', async (version) => {
    const { port, caBundle: ca } = admission;
    const options = { host: '127.0.0.1', port, ca, servername: 'localhost', minVersion: version, maxVersion: version };
    const exchange = (session?: Buffer) =>
      new Promise<{ text: string; session: Buffer | undefined }>((resolve, reject) => {
        let text = '';
        let next: Buffer | undefined;
        const socket = connect({ ...options, ...(session === undefined ? {} : { session }) });
        socket.on('session', (each) => {
          next = each;
        });
        socket.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        socket.on('error', reject).on('close', () => resolve({ text, session: next ?? socket.getSession() }));
        socket.write(
          `POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(forged)}\r\n\r\n${forged}`,
        );
      });
    const first = await exchange();
    expect(first.text).toMatch(/^HTTP\/1\.1 401/);
    expect((await exchange(first.session)).text).toMatch(/^HTTP\/1\.1 401/);
  });
});

test('others take no part of the memory and of the reviews in flight that the API server can use', async () => {
  const kilobytes = (count: number) => ' '.repeat(count * 1024);
  const admission = await startAdmission({ clients, mostInFlight: 1, mostBytes: 200 * 1024 });
  const unfinished = `${postHead('/validate?timeout=5s', 151 * 1024)}${kilobytes(150)}`;
  const others = await hold({ port: admission.port, ca: admission.caBundle }, 20, (socket) => socket.write(unfinished));
  try {
    const answer = await send(admission, { body: `${forged}${kilobytes(100)}`, credentials: client('kube-apiserver') });
    expect(answer).toMatchObject({ status: 200 });
  } finally {
    others.stop();
    await admission.stop();
  }
});

test('without a client CA, reviews are answered and not trusted', async () => {
  const admission = await startAdmission({ extraGates: [recorder] });
  try {
    seen.length = 0;
    for (const body of [forged, forged.replace('"uid"', '"caller":{"trusted":true},"uid"')])
      expect(await send(admission, { body, credentials: client('kube-apiserver') })).toMatchObject({ status: 200 });
    expect(seen).toEqual([false, false]);
  } finally {
    await admission.stop();
  }
});

describe('a real API server', () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform?.stop());

  const create = (name: string) =>
    platform.client.create(
      database.resource,
      {
        apiVersion: 'platform.company.com/v1',
        kind: 'Database',
        metadata: { name, namespace: 'team-backend' },
        spec: { engine: 'postgresql', owner: { kind: 'Team', name: 'backend-team' } },
      },
      { dryRun: true },
    );

  test('calls with its certificate, and both webhooks trust it', async () => {
    const admission = await startAdmission({ client: platform.client, ...platform.webhook(), extraGates: [recorder] });
    try {
      seen.length = 0;
      await eventually(async () => {
        await create('trusted');
        expect(seen.length).toBeGreaterThanOrEqual(2);
      });
      expect(new Set(seen)).toEqual(new Set([true]));
    } finally {
      await admission.stop();
    }
  });

  test('is refused by a webhook that trusts another CA, and the write is denied', async () => {
    const { port } = platform.webhook();
    const admission = await startAdmission({ client: platform.client, port, clients });
    try {
      await eventually(() => expect(create('refused')).rejects.toThrow(/certificate is not accepted/));
    } finally {
      await admission.stop();
    }
  });
});
