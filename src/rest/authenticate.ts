/** Authenticates the caller by the bearer token of a request. No claim is used before the signature is verified. */
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../runtime/index.ts';
import { Problem } from '../runtime/internal.ts';
import { type Caller, callerOf } from './caller.ts';

export interface TokenRules {
  readonly keys: JWTVerifyGetKey;
  /** Required value of `iss`. Default: any issuer whose keys verify the token. */
  readonly issuer?: string | undefined;
  /** Required value in `aud`. */
  readonly audience: string;
  /** Claim with the user name, with dots for nested claims. Default: `sub`. */
  readonly userClaim?: string | undefined;
  /** Prefix of the user name, so that the issuer cannot name a user of the cluster. Default: none. */
  readonly userPrefix?: string | undefined;
  /** The claim with a list of groups. Default: `groups`. */
  readonly groupsClaim?: string | undefined;
  /** Maps a group of the issuer to a group of the platform, for example `platform-team` to `kidp:admin`. */
  readonly groupNames?: Readonly<Record<string, string>> | undefined;
  readonly clock: Clock;
}

/** Allowed signature algorithms: neither `none` nor HMAC, so that a public key is never used as a shared secret. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const mostCharacters = 16_384;
const toleranceSeconds = 30;
/** User names must be valid as the value of an impersonation header. */
const userForm = /^[\x21-\x7e]([\x20-\x7e]{0,254}[\x21-\x7e])?$/;

/** `authenticate` verifies the `Authorization` header. Rejects with a Problem: 401, or 503 if no keys are available. */
export async function authenticate(authorization: string | undefined, rules: TokenRules): Promise<Caller> {
  const [, token] = /^Bearer +([^\s]+)$/i.exec(authorization ?? '') ?? [];
  if (token === undefined) throw refused('missing-token', 'send a token: Authorization: Bearer JWT');
  if (token.length > mostCharacters)
    throw refused('malformed', `the token is longer than ${mostCharacters} characters`);
  const claims = await claimsOf(token, rules);
  const { userClaim = 'sub', userPrefix = '', groupsClaim = 'groups', groupNames = {} } = rules;
  const named = claimIn(claims, userClaim);
  const user = `${userPrefix}${String(named)}`;
  if (typeof named !== 'string' || !userForm.test(named) || !userForm.test(user)) {
    throw refused('no-user', `the token names no user (\`${userClaim}\`): 1 to 256 printable ASCII characters`);
  }
  // Kubernetes grants rights to names with this prefix, so no configured prefix may produce one.
  if (user.startsWith('system:')) throw refused('no-user', 'user names that start with system: are rejected');
  const groups = claimIn(claims, groupsClaim);
  const listed: readonly unknown[] = Array.isArray(groups) ? groups : [groups];
  return callerOf(
    user,
    listed
      .filter((group) => typeof group === 'string')
      .map((group) => (Object.hasOwn(groupNames, group) ? (groupNames[group] ?? group) : group)),
  );
}

async function claimsOf(token: string, { keys, issuer, audience, clock }: TokenRules): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      algorithms,
      audience,
      ...(issuer === undefined ? {} : { issuer }),
      clockTolerance: toleranceSeconds,
      currentDate: new Date(clock.now()),
      requiredClaims: ['exp'],
    });
    return payload;
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof Problem) return error;
  if (error instanceof errors.JWTExpired) return refused('expired', 'the token has expired: get a new one');
  if (error instanceof errors.JWTClaimValidationFailed) {
    return refused(`wrong-${error.claim}`, `the claim \`${error.claim}\` of the token is missing or has a wrong value`);
  }
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return refused('forged', 'the signature of the token is invalid');
  if (error instanceof errors.JWKSNoMatchingKey)
    return refused('unknown-key', 'the token is signed with an unknown key');
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refused('algorithm', 'the signature algorithm of the token is not allowed');
  if (error instanceof errors.JOSEError) return refused('malformed', 'the token is malformed');
  return error;
}

/** `refused` builds a 401 with the `WWW-Authenticate` header of RFC 6750. */
const refused = (code: string, message: string): Problem => {
  const more = code === 'missing-token' ? '' : ', error="invalid_token"';
  return new Problem(401, code, message, { headers: { 'www-authenticate': `Bearer realm="kidp"${more}` } });
};

function claimIn(claims: JWTPayload, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
