/** Which of our codes an error message of the cel-spec stands for: its texts are hints, not a contract. */
import type { ErrorCode, IssueCode } from '../../../src/cel/index.ts';

type Code = ErrorCode | IssueCode;

interface Kind {
  readonly message: RegExp;
  readonly codes: readonly Code[];
  /** Whether a checker can know it before the expression runs. */
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
  // The test `1 / 0` of plumbing says no more than that there is an error.
  { message: /^foo$/, codes: ['divide_by_zero'] },
  { message: /unsupported key type/, codes: ['unsupported_key', 'no_such_overload', 'type_mismatch'], static: true },
  { message: /repeated key/, codes: ['duplicate_key', 'duplicate'] },
  // A key that no map can have is an invalid qualifier in cel-go.
  { message: /no such key/, codes: ['no_such_key', 'no_such_field', 'invalid_argument'] },
  { message: /(divide|division|modulus) by zero/, codes: ['divide_by_zero'] },
  {
    message: /index.*out of range|negative offset|substring range/,
    codes: ['index_out_of_bounds', 'invalid_argument'],
  },
  // Literals of timestamps and durations, and formats of literals, are validated before they run.
  { message: /range|overflow/, codes: ['overflow', 'conversion', 'invalid_argument', 'invalid_literal'], static: true },
  {
    message: /formatting/,
    codes: ['invalid_argument', 'conversion', 'no_such_overload', 'index_out_of_bounds', 'invalid_literal'],
    static: true,
  },
  // A conversion of a literal is folded, so its failure shows before the run.
  { message: /Type conversion|UTF-8/, codes: ['conversion', 'invalid_argument', 'invalid_literal'], static: true },
  // Newest cel-go validates literals of addresses before the run, Kubernetes does not.
  { message: /parse error|not allowed/, codes: ['conversion', 'invalid_argument', 'invalid_literal'], static: true },
  { message: /invalid_argument/, codes: ['invalid_argument', 'index_out_of_bounds', 'no_such_overload'] },
];

/** Tests whose message names another error than the one the expression has. */
const misnamed: Readonly<Record<string, readonly Code[]>> = {
  '1/0 != 0 && true': ['divide_by_zero'],
  'true && 1/0 != 0': ['divide_by_zero'],
  '1/0 != 0 || false': ['divide_by_zero'],
  'false || 1/0 != 0': ['divide_by_zero'],
  // In Kubernetes the budget ends before the list does.
  'lists.range(1000001)': ['invalid_argument', 'cost_exceeded'],
};

/** The codes that fit any of the messages. */
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
