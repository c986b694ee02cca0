/**
 * Sends one request and returns its answer. It retries if that is safe and can help:
 * - credentials rejected (401) or the certificate of the server not trusted: read them again, once, and retry if they
 *   have changed;
 * - no connection in time, or a connection lost before the first byte of an answer: retry once if the request is
 *   idempotent or was never sent;
 * - throttled by the server (429, 503 with Retry-After): wait as long as it demands, within the deadline.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fence } from '../client/client.ts';
import { type ApiError, FenceError } from '../errors.ts';
import type { ClusterConfig } from '../kubeconfig/kubeconfig.ts';
import { currentTraceparent } from '../tracing/context.ts';
import { retryAfterSeconds, statusError, warningsOf } from './answers.ts';
import type { Connections, Pools } from './connections.ts';
import type { Credentials } from './credentials.ts';
import { type Answer, type Exchange, exchange, type HeaderValues, Interrupted, Lost } from './exchange.ts';
import {
  abortError,
  connectionError,
  expiredClientCertificate,
  isDistrust,
  isReset,
  isTimeout,
  timeoutError,
} from './failures.ts';
import { fencedExchange } from './fenced-exchange.ts';

export interface Call {
  readonly doing: string;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly contentType?: string;
  readonly body?: string | Uint8Array;
  /** Whether the request can be repeated without further effect. */
  readonly idempotent: boolean;
  /**
   * Whether 429 is a regular answer (an eviction that a PodDisruptionBudget forbids for now). It is then returned and
   * not retried.
   */
  readonly question?: boolean;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMilliseconds: number | undefined;
  /** See `Exchange`. */
  readonly sink?: (chunk: Buffer) => void;
  readonly maximumResponseBytes?: number | undefined;
  readonly fence?: Fence | undefined;
  /** See `Exchange`. */
  readonly onSent?: (() => void) | undefined;
}

interface SenderOptions {
  timeoutMilliseconds: number;
  retries: number;
  maximumResponseBytes: number;
  maximumEventBytes: number;
  userAgent: string;
  onWarning: ((warning: string, doing: string) => void) | undefined;
}

export interface Sender {
  readonly config: ClusterConfig;
  readonly options: SenderOptions;
  /**
   * Returns the answer with any status except 401, which is thrown as an `ApiError` that explains the problem with the
   * credentials.
   */
  send(call: Call): Promise<Answer>;
  /** Applies the same retries to another kind of exchange (a watch). */
  persist<T extends { status: number; headers: HeaderValues }>(
    call: Call,
    perform: (pools: Pools, request: Exchange, deadline: number) => Promise<T>,
  ): Promise<T>;
}

export function openSender(config: ClusterConfig, connections: Connections, options: SenderOptions): Sender {
  const requestOf = requestBuilder(config, options);

  const persist = async <T extends { status: number; headers: HeaderValues }>(
    call: Call,
    perform: (pools: Pools, request: Exchange, deadline: number) => Promise<T>,
  ): Promise<T> => {
    const timeout = call.timeoutMilliseconds ?? options.timeoutMilliseconds;
    // Not the wall clock: changing it would end or extend every request in flight.
    const deadline = performance.now() + timeout;
    let mayRenew = true;
    let mayResend = true;
    for (let putOff = 0; ; ) {
      let answer: T;
      let tried: Credentials | undefined;
      try {
        const used = connections.use();
        const pools = used instanceof Promise ? await used : used;
        tried = pools.credentials;
        answer = await perform(pools, requestOf(call, pools), deadline);
      } catch (error) {
        if (error instanceof FenceError) throw error;
        if (error instanceof Interrupted) {
          throw error.by === 'signal' && call.signal !== undefined
            ? abortError(call.doing, call.signal)
            : timeoutError(call.doing, config, timeout);
        }
        const cause = error instanceof Lost ? error.cause : error;
        if (mayRenew && tried !== undefined && isDistrust(cause)) {
          mayRenew = false;
          if (await connections.renew(tried)) continue;
        }
        const safe = error instanceof Lost && (!error.sent || (call.idempotent && !error.answered));
        // A machine that was suspended has not noticed that its connection was established: retry while there is time.
        const unconnected = error instanceof Lost && !error.sent && isTimeout(cause);
        if (mayResend && safe && (isReset(cause) || unconnected)) {
          mayResend = false;
          continue;
        }
        throw connectionError(call.doing, config, cause);
      }
      if (answer.status === 401 && mayRenew) {
        mayRenew = false;
        if (await connections.renew(tried)) continue;
      }
      const wait = waitFor(call, answer);
      if (wait === undefined || putOff >= options.retries || performance.now() + wait >= deadline) return answer;
      putOff += 1;
      await sleep(wait, undefined, call.signal === undefined ? {} : { signal: call.signal }).catch(() => {
        throw abortError(call.doing, call.signal as AbortSignal);
      });
    }
  };

  return {
    config,
    options,
    persist,
    async send(call) {
      const { fence, method } = call;
      const answer = await persist(call, (pools, request, deadline) =>
        fence === undefined || method === 'GET'
          ? exchange(pools.short, request, deadline)
          : fencedExchange(pools.fenced, request, deadline, fence),
      );
      if (options.onWarning !== undefined && answer.headers.warning !== undefined) {
        for (const warning of warningsOf(answer.headers)) options.onWarning(warning, call.doing);
      }
      if (answer.status === 401) throw unauthorized(call, answer, config, await connections.use());
      return answer;
    },
  };
}

/** Builds requests from the URL of the server, the options and the credentials. */
function requestBuilder(config: ClusterConfig, options: SenderOptions): (call: Call, pools: Pools) => Exchange {
  const { origin, pathname } = new URL(config.server);
  const prefix = pathname.replace(/\/$/, '');
  return (call, { credentials }) => {
    const headers = ['accept', 'application/json', 'user-agent', options.userAgent];
    if (credentials.authorization !== undefined) headers.push('authorization', credentials.authorization);
    if (call.contentType !== undefined) headers.push('content-type', call.contentType);
    if (call.sink !== undefined) headers.push('accept-encoding', 'gzip');
    const traceparent = currentTraceparent();
    if (traceparent !== undefined) headers.push('traceparent', traceparent);
    headers.push(...call.headers);
    return {
      origin,
      method: call.method,
      path: prefix + call.path,
      headers,
      body: call.body,
      signal: call.signal,
      maximumResponseBytes: call.maximumResponseBytes ?? options.maximumResponseBytes,
      sink: call.sink,
      onSent: call.onSent,
    };
  };
}

function unauthorized(call: Call, answer: Answer, config: ClusterConfig, { credentials }: Pools): ApiError {
  const expired = expiredClientCertificate(credentials.clientCertificate, new Date());
  return statusError(
    call.doing,
    answer,
    expired !== undefined
      ? `the client certificate in ${config.source} expired at ${expired}, renew it`
      : `the credentials in ${config.source} are not accepted, log in again or correct them`,
  );
}

/**
 * Returns the time in milliseconds that the server demands before a retry; undefined if the request must not be
 * repeated.
 */
function waitFor(call: Call, answer: { status: number; headers: HeaderValues }): number | undefined {
  // Both statuses mean that nothing was done, so requests with any verb are retried. A healthy API server also answers
  // 503 with Retry-After: to requests that arrive while the storage of a changed CRD is replaced.
  if (call.question === true || (answer.status !== 429 && answer.status !== 503)) return undefined;
  const seconds = retryAfterSeconds(answer.headers);
  // Spread by up to a fifth, so that clients that were throttled together do not retry together.
  return seconds === undefined ? undefined : seconds * 1000 * (1 + Math.random() / 5);
}
