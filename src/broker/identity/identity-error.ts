/** The error of a rejected identity. Each reason is counted, logged, and returned to the caller. */

export type RefusalReason =
  /** There is no token or signature, or it is malformed. */
  | 'malformed'
  | 'oversized'
  /** Neither EdDSA nor ES256: above all `none` and HS256. */
  | 'algorithm'
  /** The header requires an extension (`crit`); none is supported. */
  | 'critical-header'
  /** The key id is missing, or is none of the sender's current keys. */
  | 'unknown-key'
  | 'forged'
  | 'expired'
  | 'not-yet-valid'
  /** The token could be used for longer than an hour. */
  | 'too-long-lived'
  | 'wrong-audience'
  /** No Broker, or more than one, has this issuer and subject; or the sender is not the platform. */
  | 'wrong-issuer'
  | 'missing-scope'
  /** The keys cannot be fetched now. A retry may succeed. */
  | 'keys-unavailable';

export class IdentityError extends Error {
  readonly code: string;
  readonly reason: RefusalReason;
  /** Whether a retry may succeed. */
  readonly retryable: boolean;
  /** The claimed Broker, if one of that name exists. The claim is not verified. */
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
