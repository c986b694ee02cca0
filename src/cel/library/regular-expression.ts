/**
 * Regular expressions in RE2 syntax that return matches and groups in time linear in the text. Compiling takes about a
 * hundred times as long as a match, and a policy uses the same pattern for every request, so compiled patterns are kept
 * in a bounded cache.
 */
import { RE2JS } from 're2js';
import { CelError } from '../values.ts';

const MAX_CACHED = 256;
/** A longer pattern is compiled on every call, so that the cache does not hold megabytes. */
const MAX_CACHED_LENGTH = 4096;

const cache = new Map<string, RE2JS | CelError>();

/** `regularExpression` compiles `pattern`; it returns an error if the pattern is invalid. */
export function regularExpression(pattern: string): RE2JS | CelError {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const compiled = compile(pattern);
  if (pattern.length > MAX_CACHED_LENGTH) return compiled;
  // A Map keeps insertion order, so the oldest entry is evicted first.
  if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value as string);
  cache.set(pattern, compiled);
  return compiled;
}

function compile(pattern: string): RE2JS | CelError {
  try {
    return RE2JS.compile(pattern);
  } catch (thrown) {
    return new CelError('invalid_argument', thrown instanceof Error ? thrown.message : String(thrown));
  }
}

/** Start and end in UTF-16 units; -1 and -1 for a group that did not match. */
export type Span = readonly [number, number];

/**
 * `matchSpans` returns all non-overlapping matches, at most `limit` unless it is negative: the whole match, then each
 * group.
 */
export function matchSpans(expression: RE2JS, text: string, limit: number): readonly (readonly Span[])[] {
  const found: (readonly Span[])[] = [];
  if (limit === 0) return found;
  const matcher = expression.matcher(text);
  const groups = expression.groupCount();
  let previousEnd = -1;
  while ((limit < 0 || found.length < limit) && matcher.find()) {
    const start = matcher.start();
    const end = matcher.end();
    // Go drops an empty match that touches the end of the previous match.
    if (start === end && start === previousEnd) continue;
    previousEnd = end;
    const spans: Span[] = [[start, end]];
    for (let group = 1; group <= groups; group++) spans.push([matcher.start(group), matcher.end(group)]);
    found.push(spans);
  }
  return found;
}
