/**
 * Brings one request to the server and an answer back, and tries again where that is safe and can help:
 * - credentials refused (401) or the server's certificate not trusted: read them again, once, and retry if they have changed;
 * - no connection in time, or one that was lost before a byte of an answer: once for what may be done twice, or was never sent;
 * - put off by the server (429, 503 with Retry-After): as long as it asks, within the deadline.
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
  /** Doing it twice does what doing it once does. */
  readonly idempotent: boolean;
  /** Whether 429 can be the answer (an eviction that a disruption budget forbids for now): it is returned, not retried. */
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
  /** Any status is an answer, but for 401, which is thrown as an `ApiError` that says what is wrong with the credentials. */
  send(call: Call): Promise<Answer>;
  /** The same care for an exchange of another sort (a watch). */
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
    // Not the wall clock: a step of it would end or stretch every request under way.
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
        // A machine that stood still has not seen its connection come about: once more, while there is time.
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

/** Each request repeats what the server's address, the options and the credentials say. */
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

/** How long the server asks us to wait before the same request, in milliseconds; undefined where it must not be repeated. */
function waitFor(call: Call, answer: { status: number; headers: HeaderValues }): number | undefined {
  // Both come before anything was done, so any verb may go again. The API server also answers 503 with Retry-After while it is healthy:
  // to requests that arrive while the storage of a changed definition is replaced.
  if (call.question === true || (answer.status !== 429 && answer.status !== 503)) return undefined;
  const seconds = retryAfterSeconds(answer.headers);
  // Spread by up to a fifth, or all that were put off together come back together.
  return seconds === undefined ? undefined : seconds * 1000 * (1 + Math.random() / 5);
}
