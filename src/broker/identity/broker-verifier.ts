/**
 * Identifies brokers. Issuer and subject name one Broker object, and only the keys of that Broker count: a valid
 * signature of another broker is worthless.
 */
import type { Broker } from '../../api/index.ts';
import { type Clock, type Logger, systemClock } from '../../runtime/index.ts';
import type { AddressGuard } from '../../runtime/internal.ts';
import type { ChannelName } from '../channel.ts';
import type { VerifiedBroker } from '../sink.ts';
import { checkClaims } from './claims.ts';
import { type FetchKeySet, fetchKeySet, type KeySetAddress } from './fetch-key-set.ts';
import { IdentityError } from './identity-error.ts';
import { parseClaims, parseJws, quoteKeyId, type UnverifiedJws, verifySignature } from './jws.ts';
import { type KeyCache, keyCache } from './key-cache.ts';
import type { IdentityMetrics } from './metrics.ts';
import { STATUS_SCOPE } from './platform-verifier.ts';
import { type KeySet, readPublicKeys, type VerificationKey } from './public-keys.ts';
import { publishedIdentity } from './published-identity.ts';

interface ClaimedIdentity {
  readonly issuer: string;
  readonly subject: string;
}

interface BrokerVerifierOptions {
  /** Finds a Broker object (`findBroker`). A deleted Broker has no identity any more. */
  readonly broker: (identity: ClaimedIdentity) => Broker | undefined;
  /** The platform's issuer, which tokens must have as their audience. */
  readonly audience: string;
  readonly log: Logger;
  readonly metrics?: IdentityMetrics | undefined;
  readonly clock?: Clock;
  /** Allows fetching keys over plain HTTP from other machines. */
  readonly insecureHttp?: boolean;
  readonly guard?: AddressGuard | undefined;
  /** Replaces fetching in tests. */
  readonly fetch?: FetchKeySet;
  /** See `KeyCacheOptions`. */
  readonly freshMilliseconds?: number;
  readonly staleMilliseconds?: number;
}

/**
 * Verifies tokens and signatures. Both methods reject with an `IdentityError`; only `keys-unavailable` can succeed
 * later. Every rejection is logged and counted.
 */
export interface BrokerVerifier {
  /** Verifies the token of the header `Authorization`, without `Bearer`. */
  token(bearer: string, scope: string): Promise<VerifiedBroker>;
  /**
   * Verifies a detached JWS (RFC 7515, appendix F) over exactly these bytes, whose protected header has alg, kid, iss
   * and sub.
   */
  signature(bytes: Uint8Array, jws: string): Promise<VerifiedBroker>;
}

export function brokerVerifier(options: BrokerVerifierOptions): BrokerVerifier {
  const { audience, log, metrics, clock = systemClock, insecureHttp, guard } = options;
  const fetched = keyCache({
    clock,
    fetch: options.fetch ?? ((address) => fetchKeySet(address, { insecureHttp, guard })),
    onFetchFailed: ({ url }, error) => log.warn('cannot fetch the keys of a broker', { url, error }),
    freshMilliseconds: options.freshMilliseconds,
    staleMilliseconds: options.staleMilliseconds,
  });
  const keyOf = keysOfBrokers(fetched);

  async function find(iss: unknown, sub: unknown, { keyId }: UnverifiedJws): Promise<[Broker, VerificationKey]> {
    const broker =
      typeof iss === 'string' && typeof sub === 'string' ? options.broker({ issuer: iss, subject: sub }) : undefined;
    if (broker === undefined) {
      throw new IdentityError(
        'wrong-issuer',
        'no Broker, or more than one, has this issuer and subject (`iss`, `sub`)',
      );
    }
    try {
      return [broker, await keyOf(broker, keyId)];
    } catch (error) {
      throw withClaimedBroker(broker.metadata.name, error);
    }
  }

  async function logRefusal(channel: ChannelName, verify: () => Promise<VerifiedBroker>): Promise<VerifiedBroker> {
    try {
      return await verify();
    } catch (error) {
      if (error instanceof IdentityError) {
        const { reason, message, claimed } = error;
        metrics?.refused(claimed, channel, reason);
        log.warn('broker identity rejected', { channel, reason, cause: message, claimed });
      }
      throw error;
    }
  }

  return {
    token: (bearer, scope) =>
      logRefusal('HTTP', async () => {
        const unverified = parseJws(bearer);
        const claims = parseClaims(unverified);
        const [broker, key] = await find(claims.iss, claims.sub, unverified);
        const { name } = broker.metadata;
        try {
          await verifySignature(unverified, key);
          const grantedScopes = broker.spec.identity?.scopes;
          checkClaims(claims, { audience, scope, grantedScopes, now: clock.now() });
        } catch (error) {
          throw withClaimedBroker(name, error);
        }
        return { name, channel: 'HTTP', keyId: key.keyId };
      }),

    signature: (bytes, jws) =>
      logRefusal('Kafka', async () => {
        const unverified = parseJws(jws);
        if (unverified.parts[1] !== '')
          throw new IdentityError('malformed', 'the signature must be detached, without a payload');
        const { iss, sub } = unverified.header;
        const [broker, key] = await find(iss, sub, unverified);
        const { name } = broker.metadata;
        try {
          await verifySignature(unverified, key, bytes);
          // A signature carries no scope, so the scopes of the Broker object decide.
          if (broker.spec.identity?.scopes?.includes(STATUS_SCOPE) === false) {
            throw new IdentityError(
              'missing-scope',
              `spec.identity.scopes of the Broker does not include ${STATUS_SCOPE}`,
            );
          }
        } catch (error) {
          throw withClaimedBroker(name, error);
        }
        return { name, channel: 'Kafka', keyId: key.keyId };
      }),
  };
}

/**
 * Finds the Broker with this issuer and subject; undefined if two Brokers share them, because the sender could be
 * either.
 */
export function findBroker(brokers: Iterable<Broker>, { issuer, subject }: ClaimedIdentity): Broker | undefined {
  let found: Broker | undefined;
  for (const broker of brokers) {
    const { name } = broker.metadata;
    const { identity } = broker.spec;
    if ((identity?.issuer ?? name) !== issuer || (identity?.subject ?? name) !== subject) continue;
    if (found !== undefined) return undefined;
    found = broker;
  }
  return found;
}

/**
 * Returns a function that finds a key of a broker: among those in the object itself, or else at the address of its key
 * set. Inline keys are parsed once per object version.
 */
function keysOfBrokers(fetched: KeyCache) {
  const inline = new WeakMap<Broker, Promise<KeySet>>();
  return async (broker: Broker, keyId: string): Promise<VerificationKey> => {
    const { publicKeys, inStatus } = publishedIdentity(broker);
    if (publicKeys.length > 0) {
      const reading = inline.get(broker) ?? readPublicKeys(publicKeys);
      inline.set(broker, reading);
      const key = (await reading).get(keyId);
      if (key !== undefined) return key;
    }
    const address = keySetAddress(broker);
    if (inStatus && publicKeys.length === 0) {
      throw new IdentityError('keys-unavailable', 'the broker has not published its keys in status.identity yet');
    }
    if (address === undefined) {
      const place = inStatus ? 'status.identity' : 'spec.identity';
      throw new IdentityError('unknown-key', `the Broker has no key ${quoteKeyId(keyId)} in ${place}.publicKeys`);
    }
    return fetched.find(address, keyId);
  };
}

/**
 * The address of a broker's key set; undefined if the object lists its keys. By default a broker serves its keys at its
 * endpoint.
 */
export function keySetAddress(broker: Broker): KeySetAddress | undefined {
  const { spec } = broker;
  const { jwksUri, publicKeys, caBundle, inStatus } = publishedIdentity(broker);
  if (inStatus) return undefined;
  const ofEndpoint =
    spec.endpoint === undefined || publicKeys.length > 0
      ? undefined
      : `${spec.endpoint.replace(/\/+$/, '')}/.well-known/jwks.json`;
  const url = jwksUri ?? ofEndpoint;
  if (url === undefined) return undefined;
  // The CA bundle is for the endpoint; the keys may be hosted by a public identity provider.
  return { url, caBundle, trustsSystem: jwksUri !== undefined };
}

function withClaimedBroker(claimed: string, error: unknown): unknown {
  if (!(error instanceof IdentityError)) return error;
  return new IdentityError(error.reason, error.message, { cause: error.cause, claimed });
}
