/** cel-go's regex extension: replace, extract, extractAll. */
import { sizeOf } from '../../cost/size.ts';
import { fn, type Library, overload, type RuntimeCost, type StaticCost } from '../../declarations.ts';
import { INT, list, optional, STRING } from '../../types.ts';
import { CelError, invalidArgument, Optional, type Result } from '../../values.ts';
import { add, estimate, fixed, multiply, ONE, range, saturate, scale, sizeOfNode } from '../estimate.ts';
import { quote } from '../go-text.ts';
import { matchSpans, regularExpression, type Span } from '../regular-expression.ts';

type Int = number | bigint;

const search = (text: Result | undefined, pattern: Result | undefined): number =>
  (sizeOf(text ?? null) + 1) * 0.1 * ((sizeOf(pattern ?? null) + 1) * 0.25);

const searchEstimate = (text: Parameters<typeof sizeOfNode>[0], pattern: Parameters<typeof sizeOfNode>[0]) =>
  multiply(scale(add(sizeOfNode(text), ONE), 0.1), scale(add(sizeOfNode(pattern), ONE), 0.25));

const extractCosts = {
  cost: (([text, pattern], result) => Math.ceil(1 + search(text, pattern) + sizeOf(result))) satisfies RuntimeCost,
  estimate: ((_target, [text, pattern]) => {
    const result = range(0, sizeOfNode(text).max);
    return estimate(add(searchEstimate(text, pattern), result), result);
  }) satisfies StaticCost,
};

const extractAllCosts = {
  cost: (([text, pattern], result) => Math.ceil(1 + search(text, pattern) + sizeOf(result) + 10)) satisfies RuntimeCost,
  estimate: ((_target, [text, pattern]) => {
    const result = range(0, sizeOfNode(text).max);
    return estimate(add(searchEstimate(text, pattern), result, fixed(10)), result);
  }) satisfies StaticCost,
};

const replaceCosts = {
  cost: (([text, pattern], result) => Math.floor(1 + search(text, pattern) + sizeOf(result))) satisfies RuntimeCost,
  estimate: ((_target, [text, pattern, replacement]) => {
    const none = sizeOfNode(text).max;
    const all = saturate(none * sizeOfNode(replacement).max);
    const result = all === 0 ? range(all, none) : range(none, all);
    return estimate(add(searchEstimate(text, pattern), result), result);
  }) satisfies StaticCost,
};

export const regex: Library = {
  name: 'cel.lib.ext.regex',
  functions: [
    fn('regex.extract', [
      overload('regex_extract_string_string', [STRING, STRING], optional(STRING), extract, extractCosts),
    ]),
    fn('regex.extractAll', [
      overload('regex_extractAll_string_string', [STRING, STRING], list(STRING), extractAll, extractAllCosts),
    ]),
    fn('regex.replace', [
      overload(
        'regex_replace_string_string_string',
        [STRING, STRING, STRING],
        STRING,
        (text: string, pattern: string, by: string) => replace(text, pattern, by, -1),
        replaceCosts,
      ),
      overload('regex_replace_string_string_string_int', [STRING, STRING, STRING, INT], STRING, replace, replaceCosts),
    ]),
  ],
};

/**
 * Returns the matches of a pattern with at most one group: the group if there is one, else the whole match. Empty
 * groups are skipped.
 */
function captured(text: string, pattern: string, limit: number): readonly string[] | CelError {
  const expression = regularExpression(pattern);
  if (expression instanceof CelError) return expression;
  const groups = expression.groupCount();
  if (groups > 1) return invalidArgument(`regular expression has more than one capturing group: ${quote(pattern)}`);
  const found: string[] = [];
  for (const spans of matchSpans(expression, text, limit)) {
    const part = spanText(text, spans[groups]);
    if (groups === 0 || part !== '') found.push(part);
  }
  return found;
}

const spanText = (text: string, span: Span | undefined): string =>
  span === undefined || span[0] < 0 ? '' : text.slice(span[0], span[1]);

function extract(text: string, pattern: string): Optional | CelError {
  const found = captured(text, pattern, 1);
  if (found instanceof CelError) return found;
  const [first] = found;
  return first === undefined ? Optional.none : new Optional(first);
}

function extractAll(text: string, pattern: string): readonly string[] | CelError {
  return captured(text, pattern, -1);
}

function replace(text: string, pattern: string, by: string, limit: Int): string | CelError {
  if (limit === 0) return text;
  const expression = regularExpression(pattern);
  if (expression instanceof CelError) return expression;
  let replaced = '';
  let end = 0;
  for (const spans of matchSpans(expression, text, limit < 0 ? -1 : Number(limit))) {
    const part = fillIn(by, text, spans);
    if (part instanceof CelError) return part;
    const [start, next] = spans[0] ?? [0, 0];
    replaced += text.slice(end, start) + part;
    end = next;
  }
  return replaced + text.slice(end);
}

/** Expands a replacement template: `\1` to `\9` and `\0` are groups, `\\` is a backslash. */
function fillIn(template: string, text: string, spans: readonly Span[]): string | CelError {
  let filled = '';
  for (let at = 0; at < template.length; at++) {
    const character = template.charAt(at);
    if (character !== '\\') {
      filled += character;
      continue;
    }
    at++;
    const next = template.charAt(at);
    if (next === '') return invalidArgument(`invalid replacement string: '${template}' \\ not allowed at end`);
    if (next === '\\') filled += '\\';
    else if (!/[0-9]/.test(next)) {
      return invalidArgument(`invalid replacement string: '${template}' \\ must be followed by a digit or \\`);
    } else if (Number(next) >= spans.length) {
      const groups = spans.length - 1;
      return invalidArgument(`replacement string references group ${next} but regex has only ${groups} group(s)`);
    } else filled += spanText(text, spans[Number(next)]);
  }
  return filled;
}
