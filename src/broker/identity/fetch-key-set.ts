/**
 * Fetches a JSON Web Key Set. The address comes from a Broker object and what answers there is not ours: nothing is followed
 * (a redirect could lead inside the cluster), nothing is waited for long, and no more is read than a key set can have.
 */
import { getCACertificates } from 'node:tls';
import { Agent, request } from 'undici';
import { parseStrictly } from '../contract/index.ts';
import { isSafeToReach, readAtMost } from '../outgoing.ts';
import { type KeySet, readKeySet } from './public-keys.ts';

export interface KeySetAddress {
  readonly url: string;
  /** PEM: who is trusted there. Left out, whom the system trusts. */
  readonly caBundle?: string | undefined;
  /** Whom the system trusts is trusted besides. */
  readonly trustsSystem?: boolean | undefined;
}

export interface FetchOptions {
  readonly timeoutMilliseconds?: number | undefined;
  /** Plain HTTP beyond this machine: for clusters whose mesh encrypts. */
  readonly insecureHttp?: boolean | undefined;
}

const mostBytes = 128 * 1024;

export type FetchKeySet = (address: KeySetAddress) => Promise<KeySet>;

/** Rejects with a plain Error that says what went wrong. */
export async function fetchKeySet(address: KeySetAddress, options: FetchOptions = {}): Promise<KeySet> {
  const keys = await readKeySet(await fetchDocument(address, options));
  if (keys === undefined)
    throw new Error(`${new URL(address.url).host} answered with something that is no JSON Web Key Set`);
  return keys;
}

/** The JSON that is there. */
export async function fetchDocument(address: KeySetAddress, options: FetchOptions = {}): Promise<unknown> {
  const { timeoutMilliseconds = 5000, insecureHttp = false } = options;
  const url = new URL(address.url);
  if (!isSafeToReach(url, insecureHttp))
    throw new Error(`keys are fetched over https, not from ${url.protocol}//${url.host}`);
  const agent = new Agent({
    connections: 1,
    connect: { ...trustOf(address), timeout: timeoutMilliseconds },
  });
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
    // Not `close`: a body that was not read to its end would keep it open.
    await agent.destroy();
  }
}

function trustOf({ caBundle, trustsSystem = false }: KeySetAddress): { readonly ca?: string[] } {
  if (caBundle === undefined) return {};
  return { ca: trustsSystem ? [...getCACertificates('default'), caBundle] : [caBundle] };
}
