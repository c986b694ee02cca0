/** Patterns in the syntax of Go, compiled once for all who match with them or look into them. */
import { RE2JS } from 're2js';

/** A pattern that is none, or one this room cannot follow. */
export class PatternError extends Error {}

const KNOWN = new Map<string, RE2JS | PatternError>();
/** Definitions use few patterns, in many places and in each of their versions. */
const MOST = 200;

export function expressionOf(pattern: string): RE2JS | PatternError {
  const known = KNOWN.get(pattern);
  if (known !== undefined) return known;
  const made = compile(pattern);
  // The oldest goes first: a Map keeps the order of insertion.
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
