import { connect, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { afterEach, describe, expect, it, test } from 'vitest';
import { issueAuthority, issueLeaf } from '../certificates/issue.ts';
import { type ServeOptions, type Serving, serveHttps } from './https.ts';
import type { AnswerPost } from './posts.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(validity);
const leaf = issueLeaf(authority, { ...validity, names: ['localhost'] });

const open: { stop(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.stop();
});

/** Starts a server whose answers name the handler that answered, and the request that it read. */
async function serve(over: Partial<ServeOptions> = {}) {
  const serving = await serveHttps({
    certificates: {
      current: () => leaf,
      bundle: () => ({ pem: authority.certificate, generation: 1 }),
      subscribe: () => () => {},
    },
    answer(request, response) {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => response.end(`node ${request.method} ${request.url} ${Buffer.concat(chunks)}`));
    },
    answerPost: (target, body) => ({ status: 200, body: `posts ${target} ${body}` }),
    ...over,
  });
  open.push({ stop: () => serving.stop({ limitMilliseconds: 200 }) });
  return serving;
}

/** One connection: sends text and returns the answers in order. */
class Client {
  readonly socket: TLSSocket;
  #received = '';
  readonly closed: Promise<void>;

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.setEncoding('utf8').on('data', (text) => {
      this.#received += text;
    });
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  static to({ port }: Serving): Promise<Client> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, servername: 'localhost', ca: authority.certificate }, () =>
        resolve(new Client(socket)),
      );
      socket.once('error', reject);
      open.push({ stop: () => socket.destroy() });
    });
  }

  send(text: string): void {
    this.socket.write(text);
  }

  /** Returns the next complete answer; an answer without a length ends with the connection. */
  async answer(): Promise<{ head: string; body: string }> {
    for (;;) {
      const [head = '', rest] = this.#received.split(/\r\n\r\n(.*)/s);
      const said = head.includes(' 100 ') ? '0' : /^content-length: (\d+)/im.exec(head)?.[1];
      const received = Buffer.from(rest ?? '');
      const length = said === undefined ? received.length : Number(said);
      const isWhole = said === undefined ? this.socket.destroyed : received.length >= length;
      if (rest !== undefined && isWhole) {
        this.#received = received.subarray(length).toString();
        return { head, body: received.subarray(0, length).toString() };
      }
      if (this.socket.destroyed) throw new Error(`closed after: ${this.#received}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

const headers = 'Host: localhost\r\nUser-Agent: kube-apiserver-admission\r\nAccept: application/json, */*\r\n';
const post = (body: string, more = ''): string =>
  `POST /validate?timeout=5s HTTP/1.1\r\n${headers}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n${more}\r\n${body}`;

describe('posts, in front of Node', () => {
  it('are answered repeatedly on one connection', async () => {
    const client = await Client.to(await serve());
    for (const body of ['{}', '{"a":"ä"}', '{}']) {
      client.send(post(body));
      const answer = await client.answer();
      expect(answer.body).toBe(`posts /validate?timeout=5s ${body}`);
      expect(answer.head).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Type: application\/json\r\n/);
      expect(answer.head).not.toMatch(/connection: close/i);
    }
  });

  it('may ask for a kept-alive connection', async () => {
    const client = await Client.to(await serve());
    client.send(post('{}', 'Connection: keep-alive\r\n'));
    expect((await client.answer()).body).toBe('posts /validate?timeout=5s {}');
  });

  it('may arrive in the smallest pieces', async () => {
    const client = await Client.to(await serve());
    for (const character of post('{"a":1}')) {
      client.send(character);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await client.answer()).body).toMatch(/^(posts|node POST) \/validate\?timeout=5s \{"a":1\}$/);
  });

  it('are answered in order if they arrive together, whichever server answers', async () => {
    const later: AnswerPost = async (_, body) => ({ status: 200, body: `posts ${body}` });
    const atOnce: AnswerPost = (_, body) => ({ status: 200, body: `posts ${body}` });
    const client = await Client.to(
      await serve({ answerPost: (target, body, caller) => (body.length % 2 ? later : atOnce)(target, body, caller) }),
    );
    const bodies = Array.from({ length: 20 }, (_, index) => JSON.stringify('x'.repeat(index)));
    client.send(`${bodies.map((body) => post(body)).join('')}GET /last HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    for (const body of bodies) expect((await client.answer()).body).toBe(`posts ${body}`);
    expect((await client.answer()).body).toBe('node GET /last ');
  });

  it('wait on their connection while one is being answered', async () => {
    const first = Promise.withResolvers<{ status: number; body: string }>();
    const client = await Client.to(
      await serve({ answerPost: (_, body) => (body === '1' ? first.promise : { status: 200, body: `posts ${body}` }) }),
    );
    client.send(post('1'));
    for (let index = 2; index < 5; index += 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
      client.send(post(`${index}`));
    }
    first.resolve({ status: 200, body: 'posts 1' });
    for (let index = 1; index < 5; index += 1) expect((await client.answer()).body).toBe(`posts ${index}`);
  });

  it('wait on a connection whose answers are not read, so that these do not accumulate', async () => {
    const [sent, size] = [300, 100_000];
    let answered = 0;
    const answerPost: AnswerPost = () => {
      answered += 1;
      return { status: 200, body: 'x'.repeat(size) };
    };
    const { socket } = await Client.to(await serve({ answerPost }));
    let received = 0;
    socket.removeAllListeners('data').pause();
    socket.write(post('{}').repeat(sent));
    let before = -1;
    while (answered === 0 || answered > before) {
      before = answered;
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
    expect(answered).toBeLessThan(sent);
    const all = Promise.withResolvers<void>();
    socket.on('data', (text: string) => {
      received += text.length;
      if (received > sent * size) all.resolve();
    });
    socket.resume();
    await all.promise;
    expect(answered).toBe(sent);
  });

  it('have the status and headers of their answer', async () => {
    const answer = { status: 429, headers: { 'retry-after': '1' }, body: '{}' };
    const client = await Client.to(await serve({ answerPost: () => answer }));
    client.send(post('{}'));
    const answered = await client.answer();
    expect(answered.head).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/);
    expect(answered.head).toMatch(/\r\nretry-after: 1$/);
  });

  test.each([
    [
      'thrown',
      () => {
        throw new Error('a bug');
      },
    ],
    ['rejected', () => Promise.reject(new Error('a bug'))],
  ] satisfies [string, AnswerPost][])('end a connection whose answer is %s, and no other', async (_, answer) => {
    const serving = await serve({
      answerPost: (target, body) => (body === '"bug"' ? answer() : { status: 200, body: target }),
    });
    const [client, other] = [await Client.to(serving), await Client.to(serving)];
    client.send(post('"bug"'));
    await client.closed;
    other.send(post('{}'));
    expect((await other.answer()).body).toBe('/validate?timeout=5s');
  });

  it('close their connection while the server drains', async () => {
    const serving = await serve();
    const [client, idle] = [await Client.to(serving), await Client.to(serving)];
    client.send(post('{}'));
    await client.answer();
    const stopped = serving.stop({ drainMilliseconds: 100, limitMilliseconds: 5_000 });
    client.send(post('{}'));
    expect((await client.answer()).head).toMatch(/connection: close/i);
    await Promise.all([client.closed, idle.closed, stopped]);
  });
});

/** The answer of Node's parser to an invalid request: nothing, or an empty chunk. */
const refused = /^(0\r\n\r\n)?$/;

describe('other requests are handed over to Node with every byte as received', () => {
  const rows: { reason: string; sent: string; said: RegExp }[] = [
    { reason: 'another method', sent: 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n', said: /^node GET \/healthz $/ },
    { reason: 'a header that may mean anything', sent: post('{}', 'X-A: b\r\n'), said: /^node POST .* \{\}$/ },
    {
      reason: 'a connection that shall be closed',
      sent: post('{}', 'Connection: close\r\n'),
      said: /^node POST .* \{\}$/,
    },
    {
      reason: 'a client that waits for leave',
      sent: post('{}', 'Expect: 100-continue\r\n'),
      said: /^$/,
    },
    {
      reason: 'another type',
      sent: post('{}').replace('Type: application/json', '$&; charset=utf-8'),
      said: /^node POST/,
    },
    { reason: 'no host', sent: post('{}').replace('Host: localhost\r\n', ''), said: refused },
    { reason: 'HTTP/1.0', sent: post('{}').replace('HTTP/1.1', 'HTTP/1.0'), said: /^node POST/ },
    { reason: 'a long body', sent: post(JSON.stringify('x'.repeat(100_000))), said: /^node POST \S+ "x{100000}"$/ },
    {
      reason: 'a body in chunks',
      sent: `POST /a HTTP/1.1\r\n${headers}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      said: /^node POST \/a \{\}$/,
    },
    { reason: 'two lengths', sent: post('{}', 'Content-Length: 3\r\n'), said: refused },
    { reason: 'a length that is no number', sent: post('{}').replace('Length: 2', 'Length: +2'), said: refused },
    { reason: 'a folded header', sent: post('{}', 'Accept-Encoding: a\r\n b\r\n'), said: /^(node POST|$)/ },
    {
      reason: 'a line that ends in a mere newline',
      sent: post('{}').replace('\r\nUser', '\nUser'),
      said: /^(node POST|$)/,
    },
    { reason: 'no HTTP at all', sent: 'hello\r\n\r\n', said: refused },
  ];
  test.each(rows)('$reason', async ({ sent, said }) => {
    const client = await Client.to(await serve());
    client.send(post('{"first":1}'));
    expect((await client.answer()).body).toBe('posts /validate?timeout=5s {"first":1}');
    client.send(sent);
    const { head, body } = await client.answer();
    expect(body).toMatch(said);
    expect(head).toMatch(body.startsWith('node') ? /^HTTP\/1\.1 200/ : /^HTTP\/1\.1 (400|100)/);
  });

  it('a path without a fast answer', async () => {
    const client = await Client.to(await serve({ answerPost: () => undefined }));
    client.send(post('{}'));
    expect((await client.answer()).body).toBe('node POST /validate?timeout=5s {}');
  });

  it('a request that is slow to arrive', async () => {
    const client = await Client.to(await serve());
    const text = post('{"slow":true}');
    client.send(text.slice(0, 100));
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    client.send(text.slice(100));
    expect((await client.answer()).body).toBe('node POST /validate?timeout=5s {"slow":true}');
  });
});

describe('two parsers', () => {
  /** Returns the status of the answer and the request as it was read; nothing if it was rejected or incomplete. */
  async function understood(serving: Serving, sent: string): Promise<string> {
    const client = await Client.to(serving);
    client.socket.write(Buffer.from(sent, 'latin1'));
    // A parser that waits for more bytes must see the end of the input.
    const late = setTimeout(() => client.socket.end(), isWhole(sent) ? 5_000 : 0);
    const { head, body } = await client.answer().catch(() => ({ head: '', body: '' }));
    clearTimeout(late);
    client.socket.destroy();
    return /^HTTP\/1\.1 200 /.test(head) ? body : '';
  }

  const lengthOf = (sent: string): number => {
    const end = sent.indexOf('\r\n\r\n') + 4;
    return end + Number(/\r\ncontent-length: (\d+)\r\n/i.exec(sent.slice(0, end))?.[1] ?? 0);
  };
  const isWhole = (sent: string): boolean => sent.includes('\r\n\r\n') && sent.length >= lengthOf(sent);

  const odd = fc.constantFrom(
    ...'\r\n\t :;,0129abZ/?%"{}\u0000\u00e4',
    '\r\n',
    '\r\n\r\n',
    'Content-Length: 1\r\n',
    'Host: b\r\n',
  );
  const change = fc.record({ at: fc.nat(260), cut: fc.nat(2), put: fc.array(odd, { maxLength: 2 }) });

  it('answer mutated requests alike, with and without the fast path', async () => {
    const body = (target: string, text: string) => `${target} ${text}`;
    const answer: ServeOptions['answer'] = (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = body(request.url ?? '', Buffer.concat(chunks).toString());
        response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text);
      });
    };
    const alone = await serve({ answer, answerPost: () => undefined });
    const behind = await serve({ answer, answerPost: (target, text) => ({ status: 200, body: body(target, text) }) });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 2 }), async (changes) => {
        let sent = post('{"a":1}');
        for (const { at, cut, put } of changes) sent = `${sent.slice(0, at)}${put.join('')}${sent.slice(at + cut)}`;
        // The bytes after a request are another request. If that one is invalid, Node may reject both, so it is
        // removed.
        if (isWhole(sent)) sent = sent.slice(0, lengthOf(sent));
        const [one, other] = await Promise.all([understood(alone, sent), understood(behind, sent)]);
        expect(other).toBe(one);
      }),
      { numRuns: 80 },
    );
  });
});
