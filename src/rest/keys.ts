/**
 * The token verification keys: a JSON Web Key Set in a file, at a URL, or discovered from an OIDC issuer. The set is
 * cached. An unknown key id refreshes it, because keys rotate, but at most every few seconds.
 */
import { readFile } from 'node:fs/promises';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock, Logger } from '../runtime/index.ts';
import { fetchDocument, Problem, retryAfter } from '../runtime/internal.ts';

export type TokenKeys =
  | { readonly file: string }
  /** `caBundle` is PEM. Default: the CAs of the system. */
  | { readonly uri: string; readonly caBundle?: string | undefined }
  | { readonly issuer: string; readonly caBundle?: string | undefined };

/**
 * Upper limit for using a cached key set while it cannot be refreshed: a revoked key is accepted no longer than this.
 */
const staleMilliseconds = 3_600_000;
const freshMilliseconds = 300_000;
/** Minimum pause between refreshes for unknown key ids and after failures. */
const pauseMilliseconds = 10_000;

export function tokenKeys(from: TokenKeys, { clock, log }: { clock: Clock; log: Logger }): JWTVerifyGetKey {
  let known: { readonly find: JWTVerifyGetKey; readonly at: number } | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    const at = clock.monotonic();
    triedAt = at;
    try {
      known = { find: createLocalJWKSet(await keySet(from)), at };
    } catch (error) {
      log.warn('failed to fetch the token verification keys', { from: shown(from), error });
    }
  }
  /** Concurrent callers share one refresh. */
  function refresh(): Promise<void> {
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  }
  const mayTry = () => clock.monotonic() - triedAt >= pauseMilliseconds;

  return async (header, token) => {
    const age = known === undefined ? Number.POSITIVE_INFINITY : clock.monotonic() - known.at;
    if (loading !== undefined || (age > freshMilliseconds && mayTry())) await refresh();
    try {
      return await usable(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !mayTry()) throw error;
      await refresh();
      return usable(header, token);
    }
  };

  function usable(...given: Parameters<JWTVerifyGetKey>): ReturnType<JWTVerifyGetKey> {
    if (known === undefined || clock.monotonic() - known.at > staleMilliseconds) {
      throw new Problem(503, 'keys-unavailable', 'the token verification keys are unavailable', {
        headers: retryAfter(pauseMilliseconds),
      });
    }
    return known.find(...given);
  }
}

async function keySet(from: TokenKeys): Promise<JSONWebKeySet> {
  const document = await documentOf(from);
  const { keys } = (document ?? {}) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error('the response is not a JSON Web Key Set');
  return { keys: keys.slice(0, 64) as JSONWebKeySet['keys'] };
}

async function documentOf(from: TokenKeys): Promise<unknown> {
  if ('file' in from) return JSON.parse(await readFile(from.file, 'utf8'));
  const { caBundle } = from;
  if ('uri' in from) return fetchDocument({ url: from.uri, caBundle });
  const discovery = `${from.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { issuer, jwks_uri: url } = ((await fetchDocument({ url: discovery, caBundle })) ?? {}) as Record<
    string,
    unknown
  >;
  // OpenID Connect Discovery, section 4.3: otherwise one issuer could impersonate another.
  if (issuer !== from.issuer) throw new Error(`the issuer in ${discovery} does not match the configured issuer`);
  if (typeof url !== 'string') throw new Error(`${discovery} has no jwks_uri`);
  return fetchDocument({ url, caBundle, trustsSystem: true });
}

const shown = (from: TokenKeys): string => ('file' in from ? from.file : 'uri' in from ? from.uri : from.issuer);
