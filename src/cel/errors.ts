/** Errors and unknowns as values: the result of an evaluation that has no value. See values.ts. */

/** A result that is not a value: an error or an unknown. */
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

/** An error as a value. It does not extend `Error`, because a stack trace would cost more than the evaluation. */
export class CelError extends NonValue {
  override readonly kind = 'error' as const;
  readonly code: ErrorCode;
  readonly message: string;
  /** The offset of the failed sub-expression in the source; -1 until the caller sets it. */
  offset = -1;
  /** The original error, if it happened in the expression that defines a variable. */
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

/** A value that the host does not know yet. `&&`, `||` and `?:` absorb it like errors; elsewhere it propagates. */
export class Unknown extends NonValue {
  override readonly kind = 'unknown' as const;
  /** The names of the missing attributes, such as `object.spec`, without duplicates. */
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
