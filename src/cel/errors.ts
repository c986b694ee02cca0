/** Errors and unknowns as values: what an evaluation yields where it has no value. See values.ts. */

/** What stands where a value should: an error or an unknown. */
export abstract class NonValue {
  abstract readonly kind: 'error' | 'unknown';
}

export type ErrorCode =
  | 'no_such_overload'
  | 'no_such_key'
  | 'no_such_field'
  | 'undeclared_reference'
  | 'divide_by_zero'
  | 'overflow'
  | 'index_out_of_bounds'
  | 'invalid_argument'
  | 'conversion'
  | 'duplicate_key'
  | 'unsupported_key'
  | 'cost_exceeded'
  | 'interrupted'
  | 'unknown'
  | 'host'
  | 'too_deep';

/** An error as a value. It is no `Error`: taking a stack trace would cost more than the evaluation. */
export class CelError extends NonValue {
  override readonly kind = 'error' as const;
  readonly code: ErrorCode;
  readonly message: string;
  /** Offset in the source of the expression that failed; -1 until the caller has said where. */
  offset = -1;
  /** What failed in another expression, with its place there: the one that defines a variable that was read. */
  cause: CelError | undefined = undefined;

  constructor(code: ErrorCode, message: string) {
    super();
    this.code = code;
    this.message = message;
  }

  override toString(): string {
    return this.message;
  }
}

/** What the host does not know yet. `&&`, `||` and `?:` absorb it as they absorb errors; elsewhere it spreads. */
export class Unknown extends NonValue {
  override readonly kind = 'unknown' as const;
  /** Names of the attributes that would be needed, `object.spec`, without duplicates. */
  readonly attributes: readonly string[];

  constructor(attributes: readonly string[]) {
    super();
    this.attributes = attributes;
  }
}

export function noSuchOverload(what?: string): CelError {
  return new CelError('no_such_overload', what === undefined ? 'no such overload' : `no such overload: ${what}`);
}

export function invalidArgument(message: string): CelError {
  return new CelError('invalid_argument', message);
}
