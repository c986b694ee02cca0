/** For brokers: verifies that a request comes from the platform, by token over HTTP or by signature on Kafka. */
import { type Clock, type Logger, silentLogger, systemClock } from '../../runtime/index.ts';
import { checkClaims } from './claims.ts';
import { fetchKeySet, type KeySetAddress } from './fetch-key-set.ts';
import { IdentityError } from './identity-error.ts';
import { parseClaims, parseJws, quoteKeyId, type UnverifiedJws, verifySignature } from './jws.ts';
import { keyCache } from './key-cache.ts';
import { readKeySet, type VerificationKey } from './public-keys.ts';

interface PlatformVerifierOptions {
  /** The address of the platform's key set, or a function that returns it (called each time, so that it may change). */
  readonly jwks: KeySetAddress | (() => object);
  /** The platform's issuer. */
  readonly issuer?: string;
  readonly subject?: string;
  /** The name of this broker. */
  readonly audience: string;
  readonly log?: Logger;
  readonly clock?: Clock;
  /** Allows fetching keys over plain HTTP from other machines. */
  readonly insecureHttp?: boolean;
  readonly freshMilliseconds?: number;
  readonly staleMilliseconds?: number;
}

/**
 * Verifies tokens and signatures. Both methods reject with an `IdentityError`; only `keys-unavailable` can succeed
 * later (503, not 401).
 */
export interface PlatformVerifier {
  token(bearer: string, scope?: string): Promise<{ readonly keyId: string }>;
  signature(bytes: Uint8Array, jws: string): Promise<{ readonly keyId: string }>;
}

export const PLATFORM_ISSUER = 'kidp';
export const PLATFORM_SUBJECT = 'kidp';
/** The scope of the platform's tokens. */
export const DEPLOYMENTS_SCOPE = 'deployments:write';
/** The scope of a broker's tokens. */
export const STATUS_SCOPE = 'status:write';

export function platformVerifier(options: PlatformVerifierOptions): PlatformVerifier {
  const { issuer = PLATFORM_ISSUER, subject = PLATFORM_SUBJECT, audience, clock = systemClock, insecureHttp } = options;
  const log = options.log ?? silentLogger;
  const keyOf = keysOfPlatform(options, clock, log, insecureHttp);

  const find = async (iss: unknown, sub: unknown, { keyId }: UnverifiedJws): Promise<VerificationKey> => {
    if (iss !== issuer || sub !== subject)
      throw new IdentityError('wrong-issuer', 'the token or signature is not from the platform (`iss`, `sub`)');
    return keyOf(keyId);
  };
  const logRefusal = async (verify: () => Promise<{ readonly keyId: string }>) => {
    try {
      return await verify();
    } catch (error) {
      if (error instanceof IdentityError) {
        log.warn('platform identity rejected', { reason: error.reason, cause: error.message });
      }
      throw error;
    }
  };

  return {
    token: (bearer, scope = DEPLOYMENTS_SCOPE) =>
      logRefusal(async () => {
        const unverified = parseJws(bearer);
        const claims = parseClaims(unverified);
        const key = await find(claims.iss, claims.sub, unverified);
        await verifySignature(unverified, key);
        checkClaims(claims, { audience, scope, now: clock.now() });
        return { keyId: key.keyId };
      }),
    signature: (bytes, jws) =>
      logRefusal(async () => {
        const unverified = parseJws(jws);
        if (unverified.parts[1] !== '')
          throw new IdentityError('malformed', 'the signature must be detached, without a payload');
        const key = await find(unverified.header.iss, unverified.header.sub, unverified);
        await verifySignature(unverified, key, bytes);
        return { keyId: key.keyId };
      }),
  };
}

function keysOfPlatform(
  { jwks, freshMilliseconds, staleMilliseconds }: PlatformVerifierOptions,
  clock: Clock,
  log: Logger,
  insecureHttp: boolean | undefined,
): (keyId: string) => Promise<VerificationKey> {
  if (typeof jwks === 'function') {
    return async (keyId) => {
      const key = (await readKeySet(jwks()))?.get(keyId);
      if (key === undefined) throw new IdentityError('unknown-key', `the platform has no key ${quoteKeyId(keyId)}`);
      return key;
    };
  }
  const cache = keyCache({
    clock,
    fetch: (address) => fetchKeySet(address, { insecureHttp }),
    onFetchFailed: ({ url }, error) => log.warn('cannot fetch the keys of the platform', { url, error }),
    freshMilliseconds,
    staleMilliseconds,
    most: 1,
  });
  return (keyId) => cache.find(jwks, keyId);
}
