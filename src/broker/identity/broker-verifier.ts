/**
 * Who of the brokers it is. Issuer and subject name one Broker object, and only the keys of that Broker count: a good signature of
 * another broker is as worthless as none.
 */
import type { Broker } from '../../api/index.ts';
import { type Clock, type Logger, systemClock } from '../../runtime/index.ts';
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

interface ClaimedIdentity {
  readonly issuer: string;
  readonly subject: string;
}

interface BrokerVerifierOptions {
  /** The Broker objects of now (`findBroker`): one that is deleted is nobody any more. */
  readonly broker: (identity: ClaimedIdentity) => Broker | undefined;
  /** The platform's issuer: what tokens must be for. */
  readonly audience: string;
  readonly log: Logger;
  readonly metrics?: IdentityMetrics | undefined;
  readonly clock?: Clock;
  /** Keys over plain HTTP beyond this machine. */
  readonly insecureHttp?: boolean;
  /** In place of fetching. */
  readonly fetch?: FetchKeySet;
  /** See `KeyCacheOptions`. */
  readonly freshMilliseconds?: number;
  readonly staleMilliseconds?: number;
}

/** Both reject with an `IdentityError`; `keys-unavailable` alone may pass later. Every refusal is logged and counted. */
export interface BrokerVerifier {
  /** Of the header `Authorization`, without `Bearer`. */
  token(bearer: string, scope: string): Promise<VerifiedBroker>;
  /** A detached JWS (RFC 7515, appendix F) over exactly these bytes, whose protected header has alg, kid, iss and sub. */
  signature(bytes: Uint8Array, jws: string): Promise<VerifiedBroker>;
}

export function brokerVerifier(options: BrokerVerifierOptions): BrokerVerifier {
  const { audience, log, metrics, clock = systemClock, insecureHttp } = options;
  const fetched = keyCache({
    clock,
    fetch: options.fetch ?? ((address) => fetchKeySet(address, { insecureHttp })),
    onFetchFailed: ({ url }, error) => log.warn('the keys of a broker cannot be fetched', { url, error }),
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
        'issuer and subject (`iss`, `sub`) are those of no Broker, or of several',
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
        log.warn('a broker was not believed', { channel, reason, why: message, claimed });
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
          throw new IdentityError('malformed', 'the signature must be detached: no payload');
        const { iss, sub } = unverified.header;
        const [broker, key] = await find(iss, sub, unverified);
        const { name } = broker.metadata;
        try {
          await verifySignature(unverified, key, bytes);
          // There is no token that could hold less: what its Broker may do is what counts.
          if (broker.spec.identity?.scopes?.includes(STATUS_SCOPE) === false) {
            throw new IdentityError('missing-scope', `spec.identity.scopes of the Broker has no ${STATUS_SCOPE}`);
          }
        } catch (error) {
          throw withClaimedBroker(name, error);
        }
        return { name, channel: 'Kafka', keyId: key.keyId };
      }),
  };
}

/** Of all Brokers the one with this issuer and subject; undefined where two share them, since it could be either. */
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

/** Those in the object itself, or else where they are fetched from. Read once for as long as the object does not change. */
function keysOfBrokers(fetched: KeyCache) {
  const inline = new WeakMap<Broker, Promise<KeySet>>();
  return async (broker: Broker, keyId: string): Promise<VerificationKey> => {
    const { publicKeys = [] } = broker.spec.identity ?? {};
    if (publicKeys.length > 0) {
      const reading = inline.get(broker) ?? readPublicKeys(publicKeys);
      inline.set(broker, reading);
      const key = (await reading).get(keyId);
      if (key !== undefined) return key;
    }
    const address = keySetAddress(broker);
    if (address === undefined) {
      throw new IdentityError('unknown-key', `the Broker has no key ${quoteKeyId(keyId)} in spec.identity.publicKeys`);
    }
    return fetched.find(address, keyId);
  };
}

/** Undefined where keys are given and nothing is to be fetched. A broker that says nothing of keys serves them at its endpoint. */
export function keySetAddress({ spec }: Broker): KeySetAddress | undefined {
  const { jwksUri, publicKeys = [] } = spec.identity ?? {};
  const ofEndpoint =
    spec.endpoint === undefined || publicKeys.length > 0
      ? undefined
      : `${spec.endpoint.replace(/\/+$/, '')}/.well-known/jwks.json`;
  const url = jwksUri ?? ofEndpoint;
  if (url === undefined) return undefined;
  const caBundle = spec.caBundle === undefined ? undefined : Buffer.from(spec.caBundle, 'base64').toString('utf8');
  // The bundle is for the endpoint; keys may be at a public provider of identities.
  return { url, caBundle, trustsSystem: jwksUri !== undefined };
}

function withClaimedBroker(claimed: string, error: unknown): unknown {
  if (!(error instanceof IdentityError)) return error;
  return new IdentityError(error.reason, error.message, { cause: error.cause, claimed });
}
