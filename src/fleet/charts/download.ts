/**
 * Downloads from repositories and registries: over TLS except from loopback; with limits on redirects, size and time;
 * credentials only for the host they belong to.
 */
import { Agent, request } from 'undici';
import { type AddressGuard, AddressRefusedError, addressGuard, isLoopback } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export interface Source {
  readonly credentials?: Credentials | undefined;
  /** CA certificates in PEM, instead of the system's. */
  readonly authorities?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The guard of connections. Default: loopback is allowed. */
  readonly guard?: AddressGuard | undefined;
}

const defaultGuard = addressGuard(['127.0.0.0/8', '::1/128']);

interface Download<Content> extends Source {
  readonly headers?: Readonly<Record<string, string>>;
  readonly mostBytes: number;
  /** Reads the body as it arrives, and may end before it does. */
  readonly read: (body: AsyncIterable<Buffer>) => Promise<Content>;
  /** Statuses besides 200 that are returned instead of thrown. */
  readonly alsoTakes?: readonly number[];
}

export interface Downloaded<Content = Buffer> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly content: Content;
}

const mostRedirects = 5;
const timeoutMilliseconds = 60_000;

/** `downloadBytes` is `download` for content that is used as a whole. */
export const downloadBytes = (address: URL, options: Omit<Download<Buffer>, 'read'>): Promise<Downloaded> =>
  download(address, { ...options, read: joined });

/** `download` rejects with `chart/unreachable`, or with `chart/missing` on 404. */
export async function download<Content>(address: URL, options: Download<Content>): Promise<Downloaded<Content>> {
  const { guard = defaultGuard } = options;
  const agent = new Agent({
    connect: guard.connector({
      timeout: 10_000,
      ...(options.authorities === undefined ? {} : { ca: options.authorities }),
    }),
    headersTimeout: timeoutMilliseconds,
    bodyTimeout: timeoutMilliseconds,
  });
  const deadline = AbortSignal.timeout(timeoutMilliseconds);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  try {
    return await follow(address, options, { agent, signal });
  } catch (cause) {
    for (let each = cause; each instanceof Error; each = each.cause) {
      if (each instanceof FleetError) throw each;
      if (each instanceof AddressRefusedError)
        throw new FleetError('chart/unreachable', `No chart is fetched from ${shown(address)}: ${each.message}`);
    }
    options.signal?.throwIfAborted();
    throw unreachable(address, whyNot(cause), cause);
  } finally {
    await agent.destroy();
  }
}

async function follow<Content>(
  from: URL,
  options: Download<Content>,
  { agent, signal }: { readonly agent: Agent; readonly signal: AbortSignal },
): Promise<Downloaded<Content>> {
  let address = from;
  for (let redirects = 0; redirects <= mostRedirects; redirects += 1) {
    requireAllowed(address, from);
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
        throw new FleetError('chart/unreachable', `${shown(address)} redirects without a location`);
      }
      address = new URL(location, address);
      continue;
    }
    const isTaken = statusCode === 200 || options.alsoTakes?.includes(statusCode) === true;
    if (!isTaken) {
      await body.dump();
      if (statusCode === 404) throw new FleetError('chart/missing', `${shown(from)} does not exist`);
      throw unreachable(from, `it answered ${statusCode}`, undefined, statusCode < 500 && statusCode !== 429);
    }
    return { status: statusCode, headers, content: await options.read(bounded(body, options.mostBytes, from)) };
  }
  throw unreachable(from, `it redirects more than ${mostRedirects} times`, undefined, true);
}

/** Plain HTTP is allowed only on loopback, and a redirect must not lead from the network to loopback. */
function requireAllowed(address: URL, from: URL): void {
  const isLocal = isLoopback(from.hostname);
  if (address.protocol === 'https:' && (isLocal || !isLoopback(address.hostname) || address.origin === from.origin))
    return;
  if (address.protocol === 'http:' && isLocal && isLoopback(address.hostname)) return;
  const why = address === from ? 'https is required' : 'it redirects to a forbidden address';
  throw unreachable(from, why, undefined, true);
}

/** An address may be malformed although the schema accepts it: `http://[`. */
export function addressIn(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw new FleetError('chart/invalid', 'The chart address is invalid: check spec.chart');
}

async function joined(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function* bounded(body: AsyncIterable<Buffer>, most: number, from: URL): AsyncGenerator<Buffer> {
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > most) throw new FleetError('chart/invalid', `${shown(from)} is larger than ${most} bytes`);
    yield chunk;
  }
}

export const authorization = (credentials: Credentials | undefined): Record<string, string> =>
  credentials === undefined
    ? {}
    : {
        authorization: `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`,
      };

const unnamed = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'authorization'));

/** `shown` drops the query, which may contain a token. */
export const shown = (address: URL): string => `${address.origin}${address.pathname}`;

function unreachable(address: URL, why: string, cause?: unknown, forGood = false): FleetError {
  return new FleetError('chart/unreachable', `${shown(address)} cannot be fetched: ${why}`, {
    temporary: !forGood,
    ...(cause === undefined ? {} : { cause }),
  });
}

function whyNot(cause: unknown): string {
  const { code, name, message } = cause as { code?: string; name?: string; message?: string };
  if (name === 'TimeoutError' || name === 'AbortError') return `no answer within ${timeoutMilliseconds / 1000} s`;
  return code ?? message ?? 'no answer';
}
