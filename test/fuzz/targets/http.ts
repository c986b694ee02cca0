import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { answerPosts } from '../../../src/runtime/serving/posts.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

/** Requests as a parser has understood them, in order. */
type Understood = { method: string; target: string; body: string }[];

/** A connection that no network is behind: what is pushed was received. */
class Connection extends Duplex {
  received: Understood = [];
  override _read(): void {}
  override _write(_chunk: unknown, _encoding: unknown, done: () => void): void {
    done();
  }
  setTimeout(): this {
    return this;
  }
}

/** Records each request when its body is complete. An error in the bytes after it, which destroys the connection, does not hide it. */
const server: Server = createServer((request: IncomingMessage, response) => {
  const { received } = request.socket as unknown as Connection;
  const chunks: Buffer[] = [];
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null) => {
    if (chunk !== null) chunks.push(Buffer.from(chunk));
    else
      received.push({
        method: request.method ?? '',
        target: request.url ?? '',
        body: Buffer.concat(chunks).toString(),
      });
    return push(chunk);
  };
  request.on('error', () => {});
  request.resume();
  response.end();
});
server.on('clientError', (_error, socket) => socket.destroy());
// As in src/runtime/serving/https.ts; the others would need a network.
server.on('checkContinue', (request, response) => server.emit('request', request, response));

/** Gives a connection to Node. */
const takeSlowly = (connection: Connection): (() => void) => {
  server.emit('connection', connection);
  return () => {};
};

/** Gives a connection to the fast path. Returns what its timer does with a client that has not completed a request for a second. */
function takeFast(connection: Connection): () => void {
  let sweep = () => {};
  const { setInterval } = globalThis;
  globalThis.setInterval = ((run: () => void) => {
    sweep = run;
    return setInterval(() => {}, 2 ** 30);
  }) as typeof setInterval;
  const posts = answerPosts({
    answer(target, body) {
      connection.received.push({ method: 'POST', target, body });
      return { status: 200, body: '{}' };
    },
    handOver: (socket) => server.emit('connection', socket),
    used: () => () => {},
    draining: () => false,
    keepAliveMilliseconds: 60_000,
    patienceMilliseconds: 60_000,
  });
  globalThis.setInterval = setInterval;
  posts.stop();
  posts.take(connection as unknown as TLSSocket, { trusted: true, presented: true, address: '127.0.0.1' });
  return () => {
    const { now } = performance;
    performance.now = () => now.call(performance) + 10_000;
    sweep();
    performance.now = now;
  };
}

async function understood(
  chunks: readonly Buffer[],
  take: (connection: Connection) => () => void,
): Promise<Understood> {
  const connection = new Connection();
  connection.on('error', () => {});
  const aSecondLater = take(connection);
  for (const chunk of chunks) {
    if (connection.destroyed || connection.writableEnded) break;
    connection.push(chunk);
    await nextTurn();
  }
  await quiet(connection);
  aSecondLater();
  await quiet(connection);
  connection.destroy();
  return connection.received;
}

/** The fast path takes a turn for each pipelined request. */
async function quiet({ received }: Connection): Promise<void> {
  for (let turns = 0, known = 0; turns < 4; turns++) {
    await nextTurn();
    if (received.length > known) turns = 0;
    known = received.length;
  }
}

const post = (body: string, more = '') =>
  `POST /validate?timeout=5s HTTP/1.1\r\nHost: kidp.svc\r\nUser-Agent: kube-apiserver\r\n${more}Content-Length: ${body.length}\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n${body}`;

export const target: Target = {
  about: 'HTTP: the fast path for reviews sees the same requests as Node’s parser',
  modules: ['src/runtime/serving/posts.ts'],
  words: [
    '\r\n',
    '\r\n\r\n',
    '\n',
    '\r',
    ' ',
    '\t',
    ': ',
    ':',
    'POST ',
    'GET ',
    'PUT ',
    ' HTTP/1.1',
    ' HTTP/1.0',
    'Host: a',
    'Content-Length: 0',
    'Content-Length: 5',
    'content-length:2',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: identity',
    'Connection: close',
    'Connection: keep-alive',
    'Expect: 100-continue',
    'Upgrade: h2c',
    'Content-Type: application/json',
    '0\r\n\r\n',
    '5\r\nhello\r\n',
    '+',
    '-',
    ',',
    ';',
    '\0',
    '\x0b',
    '\x0c',
    '\xa0',
    'Trailer: a',
    'X-A: b',
  ],
  // The first byte is the size of the chunks.
  seeds: () =>
    [
      post('{"a":1}'),
      post('{}', 'Connection: keep-alive\r\n') + post('[]'),
      `${post('')}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n${post('x')}`,
      post('{"a":"\u00e4"}'),
      `POST /a HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n${post('{}')}`,
      post('{}').replace('POST', 'PUT'),
      post('{}', 'Expect: 100-continue\r\n'),
      post('{}', 'traceparent: 00-1-2-01\r\n') + post('{}', 'Connection: close\r\n') + post('{}'),
    ].flatMap((text) => [`\0${text}`, `\x91${text}`].map((each) => Buffer.from(each, 'latin1'))),
  mostBytes: 2_048,
  async run(input) {
    // The first byte decides how the others are cut into chunks.
    const bytes = input.subarray(1);
    const size = (input[0] ?? 0) < 128 ? bytes.length : Math.max(1, (input[0] ?? 0) - 127);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length && chunks.length < 64; at += size) chunks.push(bytes.subarray(at, at + size));
    if (chunks.length * size < bytes.length) chunks.push(bytes.subarray(chunks.length * size));
    const alone = await understood(chunks, takeSlowly);
    const behind = await understood(chunks, takeFast);
    ensure(
      JSON.stringify(alone) === JSON.stringify(behind),
      'the fast path and Node see the same requests',
      () => `Node: ${JSON.stringify(alone)}\nfast: ${JSON.stringify(behind)}`,
    );
  },
};
