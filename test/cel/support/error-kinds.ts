/** Maps the error messages of the cel-spec to our codes: its texts are hints, not a contract. */
import type { ErrorCode, IssueCode } from '../../../src/cel/index.ts';

type Code = ErrorCode | IssueCode;

interface Kind {
  readonly message: RegExp;
  readonly codes: readonly Code[];
  /** Whether a checker can detect it at compile time. */
  readonly static?: boolean;
}

const kinds: readonly Kind[] = [
  {
    message: /no.such.overload|no matching overload|unbound function/,
    codes: ['no_such_overload', 'type_mismatch', 'undeclared_reference'],
    static: true,
  },
  {
    // cel-go looks the name up as a key or an index.
    message: /does not support field selection/,
    codes: ['no_such_overload', 'type_mismatch', 'no_such_field', 'no_such_key', 'invalid_argument'],
    static: true,
  },
  { message: /undeclared reference|unknown variable/, codes: ['undeclared_reference'], static: true },
  // The test `1 / 0` of plumbing only expects any error.
  { message: /^foo$/, codes: ['divide_by_zero'] },
  { message: /unsupported key type/, codes: ['unsupported_key', 'no_such_overload', 'type_mismatch'], static: true },
  { message: /repeated key/, codes: ['duplicate_key', 'duplicate'] },
  // An invalid map key is an invalid qualifier in cel-go.
  { message: /no such key/, codes: ['no_such_key', 'no_such_field', 'invalid_argument'] },
  { message: /(divide|division|modulus) by zero/, codes: ['divide_by_zero'] },
  {
    message: /index.*out of range|negative offset|substring range/,
    codes: ['index_out_of_bounds', 'invalid_argument'],
  },
  // Literal timestamps, durations and formats are validated at compile time.
  { message: /range|overflow/, codes: ['overflow', 'conversion', 'invalid_argument', 'invalid_literal'], static: true },
  {
    message: /formatting/,
    codes: ['invalid_argument', 'conversion', 'no_such_overload', 'index_out_of_bounds', 'invalid_literal'],
    static: true,
  },
  // A literal conversion is folded, so its failure is a compile-time error.
  { message: /Type conversion|UTF-8/, codes: ['conversion', 'invalid_argument', 'invalid_literal'], static: true },
  // The newest cel-go validates literal addresses at compile time, Kubernetes does not.
  { message: /parse error|not allowed/, codes: ['conversion', 'invalid_argument', 'invalid_literal'], static: true },
  { message: /invalid_argument/, codes: ['invalid_argument', 'index_out_of_bounds', 'no_such_overload'] },
];

/** Tests whose message names a different error than the expression has. */
const misnamed: Readonly<Record<string, readonly Code[]>> = {
  '1/0 != 0 && true': ['divide_by_zero'],
  'true && 1/0 != 0': ['divide_by_zero'],
  '1/0 != 0 || false': ['divide_by_zero'],
  'false || 1/0 != 0': ['divide_by_zero'],
  // In Kubernetes the budget is exceeded before the end of the list.
  'lists.range(1000001)': ['invalid_argument', 'cost_exceeded'],
};

/** Returns the codes for any of the messages. */
export function codesFor(expression: string, messages: readonly string[]): { codes: readonly Code[]; static: boolean } {
  const known = misnamed[expression];
  if (known !== undefined) return { codes: known, static: false };
  const fitting = messages.map((message) => {
    const kind = kinds.find((each) => each.message.test(message));
    if (kind === undefined) throw new RangeError(`no kind of error for: ${message}`);
    return kind;
  });
  return { codes: fitting.flatMap(({ codes }) => codes), static: fitting.some((kind) => kind.static === true) };
}
