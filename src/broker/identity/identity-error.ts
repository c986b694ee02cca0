/** Why somebody is not believed. Each reason is counted, logged, and told to who asked. */

export type RefusalReason =
  /** No token or signature, or not of its form. */
  | 'malformed'
  | 'oversized'
  /** Neither EdDSA nor ES256: `none` and HS256 above all. */
  | 'algorithm'
  /** The header asks for an extension (`crit`); none is known here. */
  | 'critical-header'
  /** The key id is left out, or is of none of the keys that this party has now. */
  | 'unknown-key'
  | 'forged'
  | 'expired'
  | 'not-yet-valid'
  /** It could be used for longer than an hour. */
  | 'too-long-lived'
  | 'wrong-audience'
  /** Of issuer and subject, together, there is no Broker, or more than one; or it is not the platform. */
  | 'wrong-issuer'
  | 'missing-scope'
  /** It cannot be told yet, since the keys cannot be had. Later it may be. */
  | 'keys-unavailable';

export class IdentityError extends Error {
  readonly code: string;
  readonly reason: RefusalReason;
  /** Whether the same may be believed later. */
  readonly retryable: boolean;
  /** The Broker that it says to be, where there is one of that name. Nothing is proved by it. */
  readonly claimed: string | undefined;

  constructor(reason: RefusalReason, message: string, options: { cause?: unknown; claimed?: string | undefined } = {}) {
    super(message, { cause: options.cause });
    this.name = 'IdentityError';
    this.code = `identity/${reason}`;
    this.reason = reason;
    this.retryable = reason === 'keys-unavailable';
    this.claimed = options.claimed;
  }
}
