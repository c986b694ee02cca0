/**
 * The template language of `format`: text with clauses (`%s`, `%d`, `%.3f`, `%%`). Both implementations of cel-go share
 * it, and so does the validation of literal templates against the types of their arguments.
 */
import type { Call, Expr } from '../ast.ts';
import type { CallValidator } from '../declarations.ts';
import { type Type, type TypeKind, typeName } from '../types.ts';
import { CelError, type Value } from '../values.ts';
import { quote } from './go-text.ts';

export type Verb = 's' | 'd' | 'f' | 'e' | 'b' | 'x' | 'X' | 'o';

export interface Clause {
  readonly verb: Verb;
  /** The precision; undefined if it was not specified. */
  readonly precision: number | undefined;
}

/** Formats one value for a clause, or returns an error. */
type ClauseFormatter = (value: Value, clause: Clause) => string | CelError;

export interface TemplateLimits {
  readonly maxPrecision: number;
}

const DEFAULT_LIMITS: TemplateLimits = { maxPrecision: 10_000 };

const failure = (message: string): CelError => new CelError('invalid_argument', message);

export const formattingFailure = (message: string): CelError => failure(`error during formatting: ${message}`);

/** Text, a clause, or the syntax error that ended parsing. */
type Piece = string | Clause | CelError;

/** `fillIn` formats `template` with `args`, in order; surplus arguments are ignored. */
export function fillIn(
  template: string,
  args: readonly Value[],
  format: ClauseFormatter,
  limits: TemplateLimits = DEFAULT_LIMITS,
): string | CelError {
  let filled = '';
  let next = 0;
  for (const piece of pieces(template, limits)) {
    if (typeof piece === 'string') {
      filled += piece;
      continue;
    }
    // Go checks for the argument before it parses the clause.
    const argument = args[next];
    if (argument === undefined) return failure(`index ${next} out of range`);
    if (piece instanceof CelError) return piece;
    const text = format(argument, piece);
    if (text instanceof CelError) return text;
    filled += text;
    next++;
  }
  return filled;
}

function* pieces(template: string, limits: TemplateLimits): Generator<Piece> {
  let at = 0;
  while (at < template.length) {
    const percent = template.indexOf('%', at);
    if (percent < 0) {
      yield template.slice(at);
      return;
    }
    if (percent > at) yield template.slice(at, percent);
    if (template[percent + 1] === '%') {
      yield '%';
      at = percent + 2;
      continue;
    }
    const { piece, end } = clauseAt(template, percent + 1, limits);
    yield piece;
    if (piece instanceof CelError) return;
    at = end;
  }
}

const VERBS = /[sdfebxXo]/;

function clauseAt(template: string, start: number, limits: TemplateLimits): { piece: Clause | CelError; end: number } {
  const problem = (message: string) => ({
    piece: failure(`could not parse formatting clause: ${message}`),
    end: start,
  });
  if (start >= template.length) return { piece: failure('unexpected end of string'), end: start };
  let at = start;
  let precision: number | undefined;
  if (template[at] === '.') {
    at++;
    const digits = /[0-9]*/y;
    digits.lastIndex = at;
    const text = digits.exec(template)?.[0] ?? '';
    at += text.length;
    if (at >= template.length)
      return problem('error while parsing precision: could not find end of precision specifier');
    precision = Number(text);
    if (text === '' || precision > limits.maxPrecision) {
      const reason =
        text === '' ? 'a number is missing' : `precision ${text} exceeds the maximum of ${limits.maxPrecision}`;
      return problem(`error while parsing precision: ${reason}`);
    }
  }
  const verb = template.charAt(at);
  if (!VERBS.test(verb)) return problem(`unrecognized formatting clause ${quote(verb)}`);
  return { piece: { verb: verb as Verb, precision }, end: at + 1 };
}

/** The types that `%s` accepts: types with a text form, and lists and maps of those. */
const TEXT_KINDS: readonly TypeKind[] = [
  'list',
  'map',
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'timestamp',
  'bytes',
  'duration',
  'type',
  'null',
];

export interface ClauseRule {
  readonly kinds: readonly TypeKind[];
  /** The error text; the actual type is appended. */
  readonly complaint: string;
}

export const STRING_RULE: ClauseRule = {
  kinds: TEXT_KINDS,
  complaint:
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given ',
};

/** `templateValidator` checks `"literal".format([…])` at compile time: clauses, number and types of arguments. */
export function templateValidator(rules: Readonly<Record<Verb, ClauseRule>>, limits = DEFAULT_LIMITS): CallValidator {
  return {
    function: 'format',
    member: true,
    validate(call, typeOf) {
      const template = call.target?.kind === 'literal' ? call.target.value : undefined;
      const args = call.args[0];
      if (typeof template !== 'string' || args?.kind !== 'list') return undefined;
      return checkTemplate(call, template, args.elements, typeOf, rules, limits);
    },
  };
}

function checkTemplate(
  call: Call,
  template: string,
  args: readonly Expr[],
  typeOf: (node: Expr) => Type,
  rules: Readonly<Record<Verb, ClauseRule>>,
  limits: TemplateLimits,
): ReturnType<CallValidator['validate']> {
  let next = 0;
  for (const piece of pieces(template, limits)) {
    if (typeof piece === 'string') continue;
    if (piece instanceof CelError) return { node: call, message: piece.message };
    const argument = args[next];
    if (argument === undefined) return { node: call, message: `index ${next} out of range` };
    const rule = rules[piece.verb];
    const wrong =
      piece.verb === 's' ? withoutText(argument, typeOf) : fits(typeOf(argument), rule) ? undefined : argument;
    if (wrong !== undefined) {
      return { node: wrong, message: `error during formatting: ${rule.complaint}${typeName(typeOf(wrong))}` };
    }
    next++;
  }
  if (args.length <= next) return undefined;
  return {
    node: call,
    message: `too many arguments supplied to string.format (expected ${next}, got ${args.length})`,
  };
}

const fits = (type: Type, rule: ClauseRule): boolean => type.kind === 'dyn' || rule.kinds.includes(type.kind);

/** Returns the first node without a text form: the argument of `%s` itself, or a part of a literal list or map. */
function withoutText(node: Expr, typeOf: (node: Expr) => Type): Expr | undefined {
  if (!fits(typeOf(node), STRING_RULE)) return node;
  const inner =
    node.kind === 'list'
      ? node.elements
      : node.kind === 'map'
        ? node.entries.flatMap((each) => [each.key, each.value])
        : [];
  for (const each of inner) {
    const wrong = withoutText(each, typeOf);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}
