/** Checks when, for whom and for what a token is valid, once its signature is verified. */
import { IdentityError } from './identity-error.ts';

const CLOCK_TOLERANCE_SECONDS = 30;
export const LONGEST_TOKEN_SECONDS = 3600;

interface ExpectedClaims {
  readonly audience: string;
  readonly scope: string;
  /** The scopes that the Broker object grants. Default: those in the token. */
  readonly grantedScopes?: readonly string[] | undefined;
  /** The current time in milliseconds since 1970. */
  readonly now: number;
}

/** Throws an `IdentityError` if a claim is missing or wrong. */
export function checkClaims(claims: Readonly<Record<string, unknown>>, expected: ExpectedClaims): void {
  const { exp, nbf, aud, scope } = claims;
  const now = expected.now / 1000;
  if (typeof exp !== 'number') throw new IdentityError('malformed', 'a token must have an expiry (`exp`), as a number');
  if (exp <= now - CLOCK_TOLERANCE_SECONDS) {
    throw new IdentityError('expired', 'the token has expired (`exp`): sign a new one, and check the clocks');
  }
  if (exp > now + LONGEST_TOKEN_SECONDS + CLOCK_TOLERANCE_SECONDS) {
    throw new IdentityError('too-long-lived', `a token must expire within ${LONGEST_TOKEN_SECONDS} seconds`);
  }
  if (nbf !== undefined && typeof nbf !== 'number') throw new IdentityError('malformed', '`nbf` must be a number');
  if (nbf !== undefined && nbf > now + CLOCK_TOLERANCE_SECONDS) {
    throw new IdentityError('not-yet-valid', 'the token is not valid yet (`nbf`): check the clocks');
  }
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(expected.audience)) {
    throw new IdentityError('wrong-audience', `the audience of the token (\`aud\`) is not ${expected.audience}`);
  }
  const scopes = typeof scope === 'string' ? scope.split(' ') : [];
  if (!scopes.includes(expected.scope) || expected.grantedScopes?.includes(expected.scope) === false) {
    throw new IdentityError('missing-scope', `the token does not grant ${expected.scope} (\`scope\`)`);
  }
}
