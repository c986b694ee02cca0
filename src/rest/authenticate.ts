/** From the token of a request to who calls. Nothing in it is believed before its signature is. */
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import type { Clock } from '../runtime/index.ts';
import { Problem } from '../runtime/internal.ts';
import { type Caller, callerOf } from './caller.ts';

export interface TokenRules {
  readonly keys: JWTVerifyGetKey;
  /** What `iss` must be; left out, whoever has the keys. */
  readonly issuer?: string | undefined;
  /** What `aud` must hold. */
  readonly audience: string;
  /** The claim that names the user. Default: `sub`. Dots lead into objects. */
  readonly userClaim?: string | undefined;
  /** Before the name, so that nobody at the issuer can have the name of a user of the cluster. Left out, nothing. */
  readonly userPrefix?: string | undefined;
  /** The claim with a list of groups. Default: `groups`. */
  readonly groupsClaim?: string | undefined;
  /** From a group of the issuer's to one of ours, for example `platform-team` to `kidp:admin`. */
  readonly groupNames?: Readonly<Record<string, string>> | undefined;
  readonly clock: Clock;
}

/** Not `none`, and nothing with a shared secret: a public key must never be taken for one. */
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
/** What a header can carry to the API server. */
const userForm = /^[\x21-\x7e]([\x20-\x7e]{0,254}[\x21-\x7e])?$/;

/** Of the header `Authorization`. Rejects with a Problem: 401, or 503 where the keys cannot be had. */
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
  // Kubernetes gives these names rights of their own, whatever the prefix is.
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

/** RFC 6750. */
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
