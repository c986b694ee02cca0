/**
 * One write in two steps, for a caller whose right to write ends (see `Fence`): the headers, with the time that remains;
 * then, once the server has acknowledged them (`100 Continue`) and if the right still stands, the body.
 *
 * Why that is enough. The API server counts `timeout` from the arrival of the headers, and a request that is out of time
 * when its body comes is answered with 504 and changes nothing. The acknowledgement proves that the count began before the
 * second check, so a body that is sent late after it (the process was stopped, the network held it back) finds the time over.
 *
 * node:http(s), because the pools send a request in one piece.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Fence } from '../client.ts';
import { ConnectionError, FenceError } from '../errors.ts';
import type { ClusterConfig } from '../kubeconfig.ts';
import type { Credentials } from './credentials.ts';
import { type Answer, type Exchange, Interrupted, Lost } from './exchange.ts';
import { sizeFailure } from './failures.ts';

/** How long the acknowledgement may take; the server is given that much less. */
const longestAcknowledgement = 4_000;

/** Connections for fenced writes, kept alive as the pools' are. */
export function openFencedAgent(config: ClusterConfig, credentials: Credentials, connections: number): HttpAgent {
  const proxy =
    config.proxyUrl === undefined ? {} : { proxyEnv: { HTTP_PROXY: config.proxyUrl, HTTPS_PROXY: config.proxyUrl } };
  const options = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets: connections, timeout: 50_000, ...proxy };
  if (!config.server.startsWith('https:')) return new HttpAgent(options);
  return new HttpsAgent({
    ...options,
    ...(credentials.secureContext === undefined ? {} : { secureContext: credentials.secureContext }),
    ...(config.insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
    ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
  });
}

export function fencedExchange(agent: HttpAgent, request: Exchange, deadline: number, fence: Fence): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const remaining = fence.remainingMilliseconds();
    const acknowledgement = Math.min(longestAcknowledgement, remaining / 2);
    const serverTimeout = Math.floor(remaining - acknowledgement);
    // The API server reads a timeout of 0 as none at all.
    if (serverTimeout < 1) return reject(fallen(fence));

    const body = Buffer.from(request.body ?? '');
    let sent = false;
    let answered = false;
    let finished = false;

    // The path goes out as it was built: read as a URL once more, `..` in it would lead elsewhere.
    const outgoing = (request.origin.startsWith('https:') ? httpsRequest : httpRequest)(request.origin, {
      agent,
      method: request.method,
      path: `${request.path}${request.path.includes('?') ? '&' : '?'}timeout=${serverTimeout}ms`,
    });
    const headers = groupHeaders(request.headers);
    for (const [name, values] of headers) outgoing.setHeader(name, values);
    outgoing.setHeader('content-length', body.length);
    outgoing.setHeader('expect', '100-continue');

    const finish = () => {
      finished = true;
      clearTimeout(timer);
      clearTimeout(acknowledgementTimer);
      for (const signal of [request.signal, fence.signal]) signal?.removeEventListener('abort', onAbort);
    };
    const fail = (error: Error) => {
      if (finished) return;
      finish();
      outgoing.destroy();
      reject(error);
    };
    const onAbort = () => fail(!sent && fence.signal.aborted ? fallen(fence) : new Interrupted('signal'));
    const timer = setTimeout(() => fail(new Interrupted('deadline')), Math.max(0, deadline - performance.now()));
    const acknowledgementTimer = setTimeout(() => fail(unacknowledged(request, acknowledgement)), acknowledgement);
    for (const signal of [request.signal, fence.signal]) {
      if (signal?.aborted === true) return onAbort();
      signal?.addEventListener('abort', onAbort);
    }

    outgoing.on('continue', () => {
      if (finished) return;
      clearTimeout(acknowledgementTimer);
      // Timers do not fire while a process is stopped, so what they would have said is asked again here.
      if (performance.now() - started > acknowledgement) return fail(unacknowledged(request, acknowledgement));
      if (fence.remainingMilliseconds() <= 0) return fail(fallen(fence));
      sent = true;
      outgoing.end(body);
    });
    outgoing.on('response', (incoming) => {
      answered = true;
      clearTimeout(acknowledgementTimer);
      readBody(incoming, request.maximumResponseBytes).then(
        (received) => {
          if (finished) return;
          finish();
          // Refused before the body was asked for: the connection still waits for it, so it cannot be used again.
          if (!sent) outgoing.destroy();
          resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: received });
        },
        (error: unknown) => fail(new Lost(error, sent, true)),
      );
    });
    outgoing.on('error', (error) => fail(new Lost(error, sent, answered)));
    outgoing.flushHeaders();
  });
}

/** Nothing was written: the body was not sent. */
function unacknowledged({ method, path }: Exchange, milliseconds: number): ConnectionError {
  return new ConnectionError({
    doing: `${method} ${path}`,
    failure: 'timeout',
    message: `the server did not answer the headers of a fenced write with 100 Continue within ${Math.round(milliseconds)} ms`,
    hint: 'It is overloaded, or a proxy on the way does not pass "Expect: 100-continue" on',
  });
}

function fallen(fence: Fence): FenceError {
  return fence.signal.reason instanceof FenceError
    ? fence.signal.reason
    : new FenceError('the right to write has ended');
}

/** From names and values in turn to values by name: a header may come several times (Impersonate-Group). */
function groupHeaders(flat: readonly string[]): Map<string, string[]> {
  const grouped = new Map<string, string[]>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const name = flat[index] ?? '';
    grouped.set(name, [...(grouped.get(name) ?? []), flat[index + 1] ?? '']);
  }
  return grouped;
}

async function readBody(incoming: IncomingMessage, maximumBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maximumBytes) {
      throw Object.assign(new Error(`the answer is larger than ${maximumBytes} bytes`), { code: sizeFailure });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}
