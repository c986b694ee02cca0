/** Name patterns with `*` for any text and `?` for one character. */

export type Glob = (text: string) => boolean;

/** `globs` returns a test for texts that match one of `patterns`. */
export function globs(patterns: readonly string[]): Glob {
  const exact = new Set(patterns.filter((each) => !isGlob(each)));
  const open = patterns.filter(isGlob).map(glob);
  return (text) => exact.has(text) || open.some((each) => each(text));
}

export const isGlob = (pattern: string): boolean => /[*?]/.test(pattern);

export function glob(pattern: string): Glob {
  if (!isGlob(pattern)) return (text) => text === pattern;
  if (/^\*+$/.test(pattern)) return () => true;
  return (text) => fits(pattern, text);
}

/** Backtracks only to the last `*`, so the time is at most the product of the lengths. */
function fits(pattern: string, text: string): boolean {
  let at = 0;
  let position = 0;
  let star = -1;
  let resume = 0;
  while (position < text.length) {
    const expected = pattern[at];
    if (expected === '*') {
      star = at++;
      resume = position;
    } else if (expected !== undefined && (expected === '?' || expected === text[position])) {
      at++;
      position++;
    } else if (star >= 0) {
      at = star + 1;
      position = ++resume;
    } else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
