/** Compiled patterns in the syntax of Go, shared by validation and analysis. */
import { RE2JS } from 're2js';

/** A pattern with a syntax error, or one that cannot be analysed. */
export class PatternError extends Error {}

/** A cache: a compiled pattern depends on its text only. */
const KNOWN = new Map<string, RE2JS | PatternError>();
/** Definitions use few patterns, in many places and in each of their versions. */
const MOST = 200;

export function expressionOf(pattern: string): RE2JS | PatternError {
  const known = KNOWN.get(pattern);
  if (known !== undefined) return known;
  const made = compile(pattern);
  // A Map keeps the order of insertion, so this evicts the oldest entry.
  if (KNOWN.size >= MOST) KNOWN.delete(KNOWN.keys().next().value as string);
  KNOWN.set(pattern, made);
  return made;
}

function compile(pattern: string): RE2JS | PatternError {
  try {
    return RE2JS.compile(pattern);
  } catch (thrown) {
    return new PatternError(thrown instanceof Error ? thrown.message : String(thrown));
  }
}
