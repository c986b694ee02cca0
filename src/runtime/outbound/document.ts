/**
 * `fetchDocument` fetches JSON from an address that somebody else has configured, for example the `jwks_uri` of an issuer. The server
 * there is not trusted: redirects are not followed (one could lead inside the cluster), and time and size are bounded.
 */
import { getCACertificates } from 'node:tls';
import { Agent, request } from 'undici';
import type { AddressGuard } from './guard.ts';
import { isLoopback } from './loopback.ts';
import { parseStrictly } from './strict-json.ts';

export interface DocumentAddress {
  readonly url: string;
  /** The PEM certificates of the authorities to trust. Default: those of the system. */
  readonly caBundle?: string | undefined;
  /** Whether the authorities of the system are trusted in addition to `caBundle`. */
  readonly trustsSystem?: boolean | undefined;
}

export interface FetchDocumentOptions {
  readonly timeoutMilliseconds?: number | undefined;
  /** Whether plain HTTP to other machines is allowed, for clusters whose mesh encrypts. */
  readonly insecureHttp?: boolean | undefined;
  /** The guard of connections. Without it the address must be the administrator's own. */
  readonly guard?: AddressGuard | undefined;
}

const mostBytes = 128 * 1024;

/** Rejects with a plain Error that names the host and the cause. Resolves to undefined if the document is not strict JSON. */
export async function fetchDocument(address: DocumentAddress, options: FetchDocumentOptions = {}): Promise<unknown> {
  const { timeoutMilliseconds = 5000, insecureHttp = false, guard } = options;
  const url = new URL(address.url);
  if (!isSafeToReach(url, insecureHttp))
    throw new Error(`keys are fetched over https, not from ${url.protocol}//${url.host}`);
  const connect = { ...trustOf(address), timeout: timeoutMilliseconds };
  const agent = new Agent({ connections: 1, connect: guard === undefined ? connect : guard.connector(connect) });
  try {
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      signal: AbortSignal.timeout(timeoutMilliseconds),
      headers: { accept: 'application/jwk-set+json, application/json' },
    });
    if (statusCode !== 200) throw new Error(`${url.host} answered ${statusCode}; redirects are not followed`);
    const parsed = parseStrictly(await readAtMost(body, mostBytes));
    return 'value' in parsed ? parsed.value : undefined;
  } finally {
    // `close` would wait for a body that was not read to its end.
    await agent.destroy();
  }
}

function trustOf({ caBundle, trustsSystem = false }: DocumentAddress): { readonly ca?: string[] } {
  if (caBundle === undefined) return {};
  return { ca: trustsSystem ? [...getCACertificates('default'), caBundle] : [caBundle] };
}

/**
 * `isSafeToReach` reports whether a URL may be requested. Anyone on the path can read and replace plain HTTP, so it is allowed to this
 * machine only, unless `insecureHttp` is set.
 */
export const isSafeToReach = (url: URL, insecureHttp: boolean): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && (insecureHttp || isLoopback(url.hostname)));

/** `readAtMost` reads a body, and rejects as soon as it is larger than `bytes`. */
export async function readAtMost(body: AsyncIterable<Uint8Array>, bytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > bytes) throw new Error(`the answer is larger than ${bytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
