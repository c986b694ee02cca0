/**
 * What is fetched from repositories and registries: over TLS, except from this very machine; so many redirects, so many bytes and so
 * much time, and credentials only for whom they were given.
 */
import { isIP } from 'node:net';
import { Agent, request } from 'undici';
import { isLoopback } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { type AllowedNetworks, allowedNetworks, networkRefused } from './networks.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface Source {
  readonly credentials?: Credentials | undefined;
  /** PEM, in place of the authorities of the system. */
  readonly authorities?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Left out, all but what is asked only where somebody says so; and this machine. */
  readonly networks?: AllowedNetworks | undefined;
}

const defaultNetworks = allowedNetworks();

interface Download extends Source {
  readonly headers?: Readonly<Record<string, string>>;
  readonly mostBytes: number;
  /** Statuses that are an answer, besides 200. */
  readonly alsoTakes?: readonly number[];
}

export interface Downloaded {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
}

const mostRedirects = 5;
const timeoutMilliseconds = 60_000;

/** Rejects with `chart/unreachable`, or `chart/missing` where it is not there. */
export async function download(address: URL, options: Download): Promise<Downloaded> {
  const { networks = defaultNetworks } = options;
  const agent = new Agent({
    connect: {
      timeout: 10_000,
      lookup: networks.lookup,
      ...(options.authorities === undefined ? {} : { ca: options.authorities }),
    },
    headersTimeout: timeoutMilliseconds,
    bodyTimeout: timeoutMilliseconds,
  });
  const deadline = AbortSignal.timeout(timeoutMilliseconds);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  try {
    return await follow(address, options, { agent, signal, networks });
  } catch (cause) {
    for (let each = cause; each instanceof Error; each = each.cause) if (each instanceof FleetError) throw each;
    options.signal?.throwIfAborted();
    throw unreachable(address, whyNot(cause), cause);
  } finally {
    await agent.destroy();
  }
}

async function follow(
  from: URL,
  options: Download,
  {
    agent,
    signal,
    networks,
  }: { readonly agent: Agent; readonly signal: AbortSignal; readonly networks: AllowedNetworks },
): Promise<Downloaded> {
  let address = from;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    mayBeAsked(address, from);
    // A name is asked about when it is resolved; an address never is.
    const host = address.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !networks.allows(host)) throw networkRefused(host);
    const isSame = address.origin === from.origin;
    const { statusCode, headers, body } = await request(address, {
      dispatcher: agent,
      signal,
      headers: {
        'user-agent': 'kidp',
        ...(isSame ? { ...options.headers, ...authorization(options.credentials) } : unnamed(options.headers)),
      },
    });
    const location = headers.location;
    if ([301, 302, 303, 307, 308].includes(statusCode) && typeof location === 'string') {
      await body.dump();
      if (!URL.canParse(location, address.href)) {
        throw new FleetError('chart/unreachable', `${shown(address)} leads nowhere`);
      }
      address = new URL(location, address);
      continue;
    }
    const isTaken = statusCode === 200 || options.alsoTakes?.includes(statusCode) === true;
    if (!isTaken) {
      await body.dump();
      if (statusCode === 404) throw new FleetError('chart/missing', `There is nothing at ${shown(from)}`);
      throw unreachable(from, `it answered ${statusCode}`, undefined, statusCode < 500 && statusCode !== 429);
    }
    return { status: statusCode, headers, bytes: await bounded(body, options.mostBytes, from) };
  }
  throw unreachable(from, `it redirects more than ${mostRedirects} times`, undefined, true);
}

/** Plain HTTP only where nobody can listen; and a redirect never leads from the network to this machine's own loopback. */
function mayBeAsked(address: URL, from: URL): void {
  const isLocal = isLoopback(from.hostname);
  if (address.protocol === 'https:' && (isLocal || !isLoopback(address.hostname) || address.origin === from.origin))
    return;
  if (address.protocol === 'http:' && isLocal && isLoopback(address.hostname)) return;
  const why = address === from ? 'it must be https' : 'it redirects to where it must not';
  throw unreachable(from, why, undefined, true);
}

/** What was written down as an address may be none, whatever its schema says: `http://[`. */
export function addressIn(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw new FleetError('chart/invalid', 'The address of the chart cannot be read: see spec.chart');
}

async function bounded(body: AsyncIterable<Buffer>, most: number, from: URL): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) throw new FleetError('chart/invalid', `${shown(from)} has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export const authorization = (credentials: Credentials | undefined): Record<string, string> =>
  credentials === undefined
    ? {}
    : {
        authorization: `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`,
      };

const unnamed = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));

/** Without what follows a question mark: that may be a token. */
export const shown = (address: URL): string => `${address.origin}${address.pathname}`;

function unreachable(address: URL, why: string, cause?: unknown, forGood = false): FleetError {
  return new FleetError('chart/unreachable', `${shown(address)} cannot be had: ${why}`, {
    temporary: !forGood,
    ...(cause === undefined ? {} : { cause }),
  });
}

function whyNot(cause: unknown): string {
  const { code, name, message } = cause as { code?: string; name?: string; message?: string };
  if (name === 'TimeoutError' || name === 'AbortError') return `no answer within ${timeoutMilliseconds / 1000} s`;
  return code ?? message ?? 'no answer';
}
