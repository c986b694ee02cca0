/**
 * Sends requests in two steps behind a proxy, over node:http(s): undici, which carries all other requests through a
 * proxy, does not support `Expect`, and the pool of the runtime does not support proxies.
 */
import { type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';
import type { Credentials } from './credentials.ts';
import type { Flow, HeldHandler, HeldRequest, HoldingDispatcher } from './wire/index.ts';

/** Opens no connection before the first request. */
export class ProxiedHolding implements HoldingDispatcher {
  readonly #agent: HttpAgent;

  constructor(config: ClusterConfig, credentials: Credentials, connections: number) {
    const { proxyUrl } = config;
    const options = {
      keepAlive: true,
      keepAliveMsecs: 15_000,
      maxSockets: connections,
      timeout: 50_000,
      ...(proxyUrl === undefined ? {} : { proxyEnv: { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl } }),
    };
    this.#agent = config.server.startsWith('https:')
      ? new HttpsAgent({
          ...options,
          ...(credentials.secureContext === undefined ? {} : { secureContext: credentials.secureContext }),
          ...(config.insecureSkipTlsVerify === true ? { rejectUnauthorized: false } : {}),
          ...(config.tlsServerName === undefined ? {} : { servername: config.tlsServerName }),
        })
      : new HttpAgent(options);
  }

  dispatchHeld(request: HeldRequest, handler: HeldHandler): void {
    let outgoing: ClientRequest;
    try {
      outgoing = this.#open(request);
    } catch (error) {
      handler.onResponseError(nowhere, error as Error);
      return;
    }
    let ended = false;
    let sent = false;
    const fail = (error: Error) => {
      if (ended) return;
      ended = true;
      outgoing.destroy();
      handler.onResponseError(flow, error);
    };
    const flow: Flow = { paused: false, pause() {}, resume() {}, abort: fail };
    outgoing.on('continue', () => {
      if (ended || !handler.onContinue(flow)) return;
      sent = true;
      outgoing.end(request.body);
    });
    outgoing.on('response', (incoming) => {
      if (ended) return;
      handler.onResponseStart(flow, incoming.statusCode ?? 0, incoming.headers);
      incoming.on('data', (chunk: Buffer) => {
        if (!ended) handler.onResponseData(flow, chunk);
      });
      incoming.on('error', fail);
      incoming.on('end', () => {
        if (ended) return;
        ended = true;
        // Rejected before the server asked for the body. The connection still expects the body, so it cannot be reused.
        if (!sent) outgoing.destroy();
        handler.onResponseEnd();
      });
    });
    outgoing.on('error', fail);
    handler.onRequestStart(flow);
    if (!ended) outgoing.flushHeaders();
  }

  #open(request: HeldRequest): ClientRequest {
    const outgoing = (request.origin.startsWith('https:') ? httpsRequest : httpRequest)(request.origin, {
      agent: this.#agent,
      method: request.method,
      // Used as built: parsing it as a URL again would resolve `..` segments.
      path: request.path(),
    });
    for (const [name, values] of groupHeaders(request.headers)) outgoing.setHeader(name, values);
    outgoing.setHeader('content-length', request.body.length);
    outgoing.setHeader('expect', '100-continue');
    return outgoing;
  }

  /** Closes idle connections now and the others when they become idle. */
  async close(): Promise<void> {
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  async destroy(): Promise<void> {
    this.#agent.destroy();
  }
}

const nowhere: Flow = { paused: false, pause() {}, resume() {}, abort() {} };

/** Converts alternating names and values to values by name: a header may occur several times (Impersonate-Group). */
function groupHeaders(flat: readonly string[]): Map<string, string[]> {
  const grouped = new Map<string, string[]>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const name = flat[index] ?? '';
    grouped.set(name, [...(grouped.get(name) ?? []), flat[index + 1] ?? '']);
  }
  return grouped;
}
