/** What a token says about when, for whom and for what it is. Looked at once its signature is known to be good. */
import { IdentityError } from './identity-error.ts';

const CLOCK_TOLERANCE_SECONDS = 30;
export const LONGEST_TOKEN_SECONDS = 3600;

interface ExpectedClaims {
  readonly audience: string;
  readonly scope: string;
  /** What it may be used for at most, whatever it says. Left out, what it says. */
  readonly grantedScopes?: readonly string[] | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Throws an `IdentityError`. */
export function checkClaims(claims: Readonly<Record<string, unknown>>, expected: ExpectedClaims): void {
  const { exp, nbf, aud, scope } = claims;
  const now = expected.now / 1000;
  if (typeof exp !== 'number')
    throw new IdentityError('malformed', 'a token says when it expires (`exp`), as a number');
  if (exp <= now - CLOCK_TOLERANCE_SECONDS) {
    throw new IdentityError('expired', 'the token has expired: sign a new one, and look at the clocks');
  }
  if (exp > now + LONGEST_TOKEN_SECONDS + CLOCK_TOLERANCE_SECONDS) {
    throw new IdentityError('too-long-lived', `a token may live for ${LONGEST_TOKEN_SECONDS} seconds at most`);
  }
  if (nbf !== undefined && typeof nbf !== 'number') throw new IdentityError('malformed', '`nbf` must be a number');
  if (nbf !== undefined && nbf > now + CLOCK_TOLERANCE_SECONDS) {
    throw new IdentityError('not-yet-valid', 'the token is not valid yet (`nbf`): look at the clocks');
  }
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audiences.includes(expected.audience)) {
    throw new IdentityError('wrong-audience', `the token is not for ${expected.audience} (\`aud\`)`);
  }
  const scopes = typeof scope === 'string' ? scope.split(' ') : [];
  if (!scopes.includes(expected.scope) || expected.grantedScopes?.includes(expected.scope) === false) {
    throw new IdentityError('missing-scope', `the token may not be used for ${expected.scope} (\`scope\`)`);
  }
}
