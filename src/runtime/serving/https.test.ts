import type { ServerResponse } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { connect } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { Bundle, CertificateSource } from '../certificates/bundle.ts';
import { issueAuthority, issueLeaf, type KeyPair } from '../certificates/issue.ts';
import { type ServeOptions, type Serving, serveHttps } from './https.ts';

const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };

/** A certificate source that rotates when the test demands it. */
class Turning implements CertificateSource {
  readonly #listeners = new Set<() => void>();
  #authority = issueAuthority(validity);
  #leaf = issueLeaf(this.#authority, { ...validity, names: ['localhost'] });

  current(): KeyPair {
    return this.#leaf;
  }
  bundle(): Bundle {
    return { pem: this.#authority.certificate, generation: 1 };
  }
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  get listeners(): number {
    return this.#listeners.size;
  }
  turn(): void {
    this.#authority = issueAuthority(validity);
    this.#leaf = issueLeaf(this.#authority, { ...validity, names: ['localhost'] });
    for (const listener of this.#listeners) listener();
  }
}

const open: { stop(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop();
});

async function serve(certificates: CertificateSource, over: Partial<ServeOptions> = {}): Promise<Serving> {
  const serving = await serveHttps({ certificates, answer: (_, response) => response.end('hello'), ...over });
  open.push({ stop: () => serving.stop({ limitMilliseconds: 200 }) });
  return serving;
}

function agentFor(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  open.push({ stop: () => agent.destroy() });
  return agent;
}

function get(
  serving: Serving,
  ca: string,
  options: RequestOptions = {},
): Promise<{ body: string; connection: string | undefined; port: number | undefined }> {
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port: serving.port, servername: 'localhost', ca, ...options },
      (response) => {
        let body = '';
        const { localPort: port } = response.socket;
        response.setEncoding('utf8').on('data', (text) => (body += text));
        response.on('end', () => resolve({ body, connection: response.headers.connection, port }));
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

describe('serveHttps', () => {
  it('presents a new leaf to new connections and keeps open ones', async () => {
    const certificates = new Turning();
    const serving = await serve(certificates);
    const before = certificates.bundle().pem;
    const agent = agentFor();
    const first = await get(serving, before, { agent });
    certificates.turn();
    const second = await get(serving, before, { agent });
    expect(second).toMatchObject({ body: 'hello', port: first.port });
    await expect(get(serving, before)).rejects.toMatchObject({
      code: expect.stringMatching(/UNABLE_TO_VERIFY|SELF_SIGNED/),
    });
    await expect(get(serving, certificates.bundle().pem)).resolves.toMatchObject({ body: 'hello' });
  });

  it('speaks HTTP/1.1 to a client that prefers h2', async () => {
    const certificates = new Turning();
    const serving = await serve(certificates);
    const protocol = await new Promise((resolve, reject) => {
      const socket: TLSSocket = connectTls(
        {
          host: '127.0.0.1',
          port: serving.port,
          servername: 'localhost',
          ca: certificates.bundle().pem,
          ALPNProtocols: ['h2', 'http/1.1'],
        },
        () => {
          resolve(socket.alpnProtocol);
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });
    expect(protocol).toBe('http/1.1');
  });

  it('survives a client that speaks no TLS', async () => {
    const certificates = new Turning();
    const serving = await serve(certificates);
    await new Promise<void>((resolve) => {
      const socket = connect(serving.port, '127.0.0.1', () => socket.end('GET / HTTP/1.1\r\n\r\n'));
      socket.on('error', () => {}).on('close', () => resolve());
    });
    await expect(get(serving, certificates.bundle().pem)).resolves.toMatchObject({ body: 'hello' });
  });

  it('finishes requests in flight when it stops, and closes their connections with the answer', async () => {
    const certificates = new Turning();
    const arrived = Promise.withResolvers<ServerResponse>();
    const serving = await serve(certificates, { answer: (_, response) => arrived.resolve(response) });
    const answer = get(serving, certificates.bundle().pem, { agent: agentFor() });
    const response = await arrived.promise;
    const stopped = serving.stop();
    expect(serving.draining).toBe(true);
    response.end('late');
    await expect(answer).resolves.toMatchObject({ body: 'late' });
    await stopped;
    await expect(get(serving, certificates.bundle().pem)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    expect(certificates.listeners).toBe(0);
  });

  it('still answers while it drains, closing each connection with the answer', async () => {
    const certificates = new Turning();
    const serving = await serve(certificates);
    const agent = agentFor();
    await get(serving, certificates.bundle().pem, { agent });
    const stopped = serving.stop({ drainMilliseconds: 300 });
    await expect(get(serving, certificates.bundle().pem, { agent })).resolves.toMatchObject({
      body: 'hello',
      connection: 'close',
    });
    await stopped;
  });

  it('closes connections whose request does not finish', async () => {
    const certificates = new Turning();
    const serving = await serve(certificates, { answer: () => {} });
    const hanging = get(serving, certificates.bundle().pem);
    hanging.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 50));
    await serving.stop({ limitMilliseconds: 50 });
    await expect(hanging).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('closes connections that never send anything', async () => {
    const serving = await serve(new Turning());
    const socket = connect(serving.port, '127.0.0.1');
    open.push({ stop: () => socket.destroy() });
    socket.on('error', () => {});
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('connect', resolve));
    // The answer to this request shows that the server has accepted the silent socket too.
    await get(serving, new Turning().bundle().pem).catch(() => {});
    await Promise.all([serving.stop({ limitMilliseconds: 100 }), ended]);
  });

  it('reports that a port is in use', async () => {
    const certificates = new Turning();
    const { port } = await serve(certificates);
    await expect(serve(certificates, { port })).rejects.toMatchObject({ code: 'config/port' });
  });

  it('shares a port with another server if both set reusePort', async () => {
    const certificates = new Turning();
    const { port } = await serve(certificates, { reusePort: true });
    await expect(serve(certificates, { port, reusePort: true })).resolves.toMatchObject({ port });
  });

  it('stops listening on a shared port at once, and still answers on open connections', async () => {
    const certificates = new Turning();
    const leaving = await serve(certificates, { reusePort: true, answer: (_, response) => response.end('leaving') });
    const agent = agentFor();
    await get(leaving, certificates.bundle().pem, { agent });
    await serve(certificates, {
      port: leaving.port,
      reusePort: true,
      answer: (_, response) => response.end('staying'),
    });
    const stopped = leaving.stop({ drainMilliseconds: 2_000 });
    for (let connection = 0; connection < 20; connection += 1) {
      await expect(get(leaving, certificates.bundle().pem)).resolves.toMatchObject({ body: 'staying' });
    }
    await expect(get(leaving, certificates.bundle().pem, { agent })).resolves.toMatchObject({
      body: 'leaving',
      connection: 'close',
    });
    await stopped;
  });
});
