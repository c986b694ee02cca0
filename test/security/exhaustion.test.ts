/** Clients without credentials that try to use up the webhook: a small review is still answered in a second, and they are disconnected. */
import { request } from 'node:https';
import type { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueAuthority, issueLeaf } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type ControlPlane, startControlPlane } from '../support/cluster.ts';
import { admissionReview, reviewedDatabase } from '../support/review.ts';
import { startTestProcess, type TestProcess } from '../support/test-process.ts';
import { type Attack, hold, postHead, type Target, trickle } from './support/attackers.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(validity);
const credentials = issueLeaf(authority, { ...validity, client: { commonName: 'kube-apiserver' } });
const program = fileURLToPath(new URL('support/webhook.ts', import.meta.url));

const small = JSON.stringify(
  admissionReview({ object: reviewedDatabase('backend-team'), oldObject: reviewedDatabase('backend-team') }),
);
const megabyte = 1024 * 1024;

/** Sends a small review on a connection of its own, and returns the status; 0 without an answer within a second. */
function review({ port, ca }: Target & { ca: string }): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      `https://127.0.0.1:${port}/validate?timeout=1s`,
      {
        method: 'POST',
        agent: false,
        ca,
        cert: credentials.certificate,
        key: credentials.key,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(small) },
        signal: AbortSignal.timeout(1_000),
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    );
    sent.on('error', () => resolve(0));
    sent.end(small);
  });
}

interface Row {
  readonly reason: string;
  readonly connections: number;
  readonly each: (socket: Socket) => void;
  readonly raw?: boolean;
  /** Never reads, and notices that it was disconnected only when it sends. */
  readonly isDeaf?: boolean;
}

const attacks: Row[] = [
  {
    reason: 'announced bodies of which one byte arrives',
    connections: 40,
    each: (socket) => socket.write(`${postHead('/validate?timeout=30s', 7 * megabyte)}{`),
  },
  {
    reason: 'large bodies without their last byte',
    connections: 14,
    each: (socket) => {
      socket.write(postHead('/validate?timeout=30s', 6 * megabyte));
      socket.write(' '.repeat(6 * megabyte - 1));
    },
  },
  { reason: 'slow heads', connections: 300, each: trickle(postHead('/validate', 100)) },
  {
    reason: 'slow small bodies',
    connections: 300,
    each: (socket) => {
      socket.write(postHead('/validate?timeout=30s', 1000));
      trickle(' '.repeat(1000))(socket);
    },
  },
  {
    reason: 'slow chunks',
    connections: 300,
    each: (socket) => {
      socket.write(
        'POST /mutate?timeout=30s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      trickle('1\r\n \r\n'.repeat(100), 50)(socket);
    },
  },
  { reason: 'connections without a request', connections: 500, each: () => {} },
  { reason: 'connections without a handshake', connections: 1200, each: () => {}, raw: true },
  {
    reason: 'answers that are not read',
    isDeaf: true,
    connections: 50,
    each: (socket) => {
      socket.pause();
      socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(100));
    },
  },
];

describe.each([
  { server: 'a webhook that authenticates its callers', env: { CLIENT_CA: authority.certificate } },
  { server: 'a webhook without a client CA', env: {} },
])('$server', ({ env }) => {
  let process_: TestProcess;
  let target: Target & { ca: string };
  beforeAll(async () => {
    process_ = startTestProcess('webhook', process.execPath, [program], { env: { ...process.env, ...env } });
    target = await eventually(() => JSON.parse(process_.output()) as typeof target);
  });
  afterAll(() => process_?.kill());

  test.each(attacks)('answers reviews during $reason, and ends them', async ({
    connections,
    each,
    raw = false,
    isDeaf = false,
  }) => {
    const attack: Attack = await hold(target, connections, each, { raw });
    try {
      expect(await review(target)).toBe(200);
      await eventually(
        () => {
          for (const socket of isDeaf ? attack.sockets : []) socket.write('GET / HTTP/1.1\r\n');
          expect(attack.ended()).toBe(connections);
        },
        { within: 15_000 },
      );
    } finally {
      attack.stop();
    }
    expect(process_.hasExited).toBe(false);
  });

  const bodies = [
    { reason: 'deep arrays', body: '['.repeat(60_000) },
    { reason: 'deep objects', body: '{"a":'.repeat(12_000) },
    {
      reason: 'a deep object in a review',
      body: small.replace('"size":"small"', `"size":${'['.repeat(20_000)}${']'.repeat(20_000)}`),
    },
    { reason: 'a compressed body', body: small, more: 'Content-Encoding: gzip\r\n' },
  ];
  test.each(bodies)('survives $reason', async ({ body, more = '' }) => {
    const attack = await hold(target, 20, (socket) => {
      socket.write(`${postHead('/validate', Buffer.byteLength(body), more)}${body}`);
    });
    try {
      expect(await review(target)).toBe(200);
    } finally {
      attack.stop();
    }
    expect(process_.hasExited).toBe(false);
  });
});

describe('other listeners', () => {
  let plane: ControlPlane;
  let process_: TestProcess;
  let ports: Record<'status' | 'rest' | 'broker', number>;
  beforeAll(async () => {
    const listeners = fileURLToPath(new URL('support/listeners.ts', import.meta.url));
    plane = await startControlPlane({});
    const env = { ...process.env, KUBECONFIG: plane.kubeconfig };
    process_ = startTestProcess('listeners', process.execPath, [listeners], { env });
    ports = await eventually(() => JSON.parse(process_.output()) as typeof ports, { within: 60_000 });
  });
  afterAll(async () => {
    await process_?.kill();
    await plane?.stop();
  });

  /** What a legitimate client asks, and what each server takes in a body. */
  const servers = [
    { server: 'status', ask: '/healthz', path: '/v1/status' },
    { server: 'rest', ask: '/health', path: '/api/v1/operators' },
    { server: 'broker', ask: '/v1/health', path: '/v1/deployments' },
    { server: 'broker', ask: '/v1/health', path: '/metrics' },
  ] as const;
  const nested = '['.repeat(200_000);
  const bomb = gzipSync(Buffer.alloc(64 * megabyte, ' '));
  const ways: { reason: string; connections: number; each: (path: string) => (socket: Socket) => void }[] = [
    { reason: 'slow heads', connections: 300, each: (path) => trickle(postHead(path, 100)) },
    {
      reason: 'slow bodies',
      connections: 300,
      each: (path) => (socket) => {
        socket.write(postHead(path, 1000));
        trickle(' '.repeat(1000))(socket);
      },
    },
    {
      reason: 'answers that are not read',
      connections: 50,
      each: (path) => (socket) => {
        socket.pause();
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(100));
      },
    },
    { reason: 'many connections', connections: 2_500, each: () => () => {} },
    {
      reason: 'compressed bombs',
      connections: 20,
      each: (path) => (socket) => {
        socket.write(postHead(path, bomb.length, 'Content-Encoding: gzip\r\n'));
        socket.write(bomb);
      },
    },
    {
      reason: 'deep JSON',
      connections: 20,
      each: (path) => (socket) => socket.write(`${postHead(path, nested.length)}${nested}`),
    },
  ];
  test.each(
    servers.flatMap((one) => ways.map((way) => ({ ...one, ...way }))),
  )('$server, $path: answers during $reason', async ({ server, ask, path, connections, each }) => {
    const attack = await hold({ port: ports[server] }, connections, each(path));
    try {
      const answer = await fetch(`http://127.0.0.1:${ports[server]}${ask}`, { signal: AbortSignal.timeout(1_000) });
      expect(answer.status).toBe(200);
      await answer.text();
    } finally {
      attack.stop();
    }
    expect(process_.hasExited).toBe(false);
  });
});
