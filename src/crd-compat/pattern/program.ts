/**
 * Nondeterministic programs over sets of code points, from patterns in RE2 syntax. RE2JS parses and compiles a pattern, so the program that
 * is analysed here is the one that matches during validation.
 */
import { ANY, type CodePoints, NOT_NEWLINE } from './characters.ts';
import { expressionOf, PatternError } from './expression.ts';

export { PatternError };

export type Instruction =
  | { readonly kind: 'split'; readonly to: readonly number[] }
  | { readonly kind: 'character'; readonly set: CodePoints; readonly to: number }
  /** Continues if all of `conditions` hold between two characters. */
  | { readonly kind: 'assert'; readonly conditions: number; readonly to: number }
  | { readonly kind: 'match' }
  | { readonly kind: 'fail' };

export interface Program {
  readonly instructions: readonly Instruction[];
  readonly start: number;
  /** All conditions that the program asserts. */
  readonly conditions: number;
  /** Whether the pattern matches anywhere in the text. */
  readonly matches: (text: string) => boolean;
}

/** The bits of assertions in RE2 programs. */
export const Condition = {
  beginLine: 1,
  endLine: 2,
  beginText: 4,
  endText: 8,
  wordBoundary: 16,
  noWordBoundary: 32,
} as const;

const MAX_KEPT = 128;
/** A cache: a program depends on its pattern only. */
const kept = new Map<string, Program | PatternError>();

export function programOf(pattern: string): Program | PatternError {
  const known = kept.get(pattern);
  if (known !== undefined) return known;
  const made = compile(pattern);
  // A Map keeps the order of insertion, so this evicts the oldest entry.
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value as string);
  kept.set(pattern, made);
  return made;
}

/** The private opcodes of RE2JS 2.10. opcodes.test.ts fails if a new version changes them (docs/decisions/0026). */
const [ALT, ALT_MATCH, CAPTURE, EMPTY_WIDTH, FAIL, MATCH, NOP, RUNE, RUNE1, RUNE_ANY, RUNE_ANY_NOT_NL] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
];
const FOLD_CASE = 1;

interface Re2Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  readonly runes: Int32Array;
  matchRune(codePoint: number): boolean;
}

function compile(pattern: string): Program | PatternError {
  const expression = expressionOf(pattern);
  if (expression instanceof PatternError) return expression;
  const program: { readonly inst: readonly Re2Instruction[]; readonly start: number } = expression.re2().prog;
  const instructions = program.inst.map(translate);
  const unknown = instructions.indexOf(undefined);
  if (unknown >= 0) return new PatternError(`instruction ${program.inst[unknown]?.op} of RE2JS is unknown`);
  const found = instructions as Instruction[];
  const conditions = found.reduce((all, each) => (each.kind === 'assert' ? all | each.conditions : all), 0);
  // The API server receives a lone surrogate as the replacement character.
  const matches = (text: string): boolean => expression.test(text.toWellFormed());
  return { instructions: found, start: program.start, conditions, matches };
}

function translate(instruction: Re2Instruction): Instruction | undefined {
  const { op, out, arg } = instruction;
  switch (op) {
    case ALT:
    case ALT_MATCH:
      return { kind: 'split', to: [out, arg] };
    case CAPTURE:
    case NOP:
      return { kind: 'split', to: [out] };
    case EMPTY_WIDTH:
      return { kind: 'assert', conditions: arg, to: out };
    case FAIL:
      return { kind: 'fail' };
    case MATCH:
      return { kind: 'match' };
    case RUNE:
    case RUNE1:
      return { kind: 'character', set: codePoints(instruction), to: out };
    case RUNE_ANY:
      return { kind: 'character', set: ANY, to: out };
    case RUNE_ANY_NOT_NL:
      return { kind: 'character', set: NOT_NEWLINE, to: out };
    default:
      return undefined;
  }
}

function codePoints(instruction: Re2Instruction): CodePoints {
  const [only] = instruction.runes;
  if (only === undefined || instruction.runes.length > 1) return [...instruction.runes];
  return (instruction.arg & FOLD_CASE) === 0 ? [only, only] : foldOf(only, instruction);
}

/** All letters with case variants are below this code point. */
const AFTER_CASED = 0x20000;
/** A cache: the case variants of a letter never change. */
const folds = new Map<number, CodePoints>();

/** The case variants of a letter, such as k, K and the Kelvin sign, as the instruction itself matches them. */
function foldOf(letter: number, instruction: Re2Instruction): CodePoints {
  const known = folds.get(letter);
  if (known !== undefined) return known;
  const made: number[] = [];
  for (let each = 0; each < AFTER_CASED; each++) if (instruction.matchRune(each)) made.push(each, each);
  folds.set(letter, made);
  return made;
}
