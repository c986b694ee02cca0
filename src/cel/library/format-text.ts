/** `format` in one of the styles cel-go has written values in: what the styles share, around what each says itself. */
import type { CallValidator } from '../declarations.ts';
import { mapEntries } from '../map.ts';
import { compareText } from '../text.ts';
import { CelError, type CelMap, type JsonMap, typeOf, type Value } from '../values.ts';
import {
  type Clause,
  type ClauseRule,
  fillIn,
  formattingFailure,
  STRING_RULE,
  type TemplateLimits,
  templateValidator,
  type Verb,
} from './format-clauses.ts';
import { binary, hexadecimal, octal } from './integer-text.ts';

export const DEFAULT_PRECISION = 6;

interface FormatStyle {
  /** What each clause takes; %s takes the same everywhere, %X what %x does. */
  readonly rules: Readonly<Record<Exclude<Verb, 's' | 'X'>, ClauseRule>>;
  readonly limits?: TemplateLimits;
  /** The texts for %s, %d, %f and %e: undefined for a value that the clause does not take. */
  text(value: Value): string | CelError | undefined;
  decimal(value: Value): string | undefined;
  fixedPoint(value: Value, precision: number): string | undefined;
  scientific(value: Value, precision: number): string | undefined;
}

export interface Format {
  readonly formatText: (template: string, args: readonly Value[]) => string | CelError;
  readonly formatValidator: CallValidator;
}

export function formatIn(style: FormatStyle): Format {
  const rules: Readonly<Record<Verb, ClauseRule>> = { ...style.rules, s: STRING_RULE, X: style.rules.x };
  const formatClause = (value: Value, { verb, precision = DEFAULT_PRECISION }: Clause): string | CelError =>
    clauseText(style, value, verb, precision) ?? formattingFailure(`${rules[verb].complaint}${typeOf(value).name}`);
  return {
    formatText: (template, args) => fillIn(template, args, formatClause, style.limits),
    formatValidator: templateValidator(rules, style.limits),
  };
}

function clauseText(style: FormatStyle, value: Value, verb: Verb, precision: number): string | CelError | undefined {
  switch (verb) {
    case 's':
      return style.text(value);
    case 'd':
      return style.decimal(value);
    case 'f':
      return style.fixedPoint(value, precision);
    case 'e':
      return style.scientific(value, precision);
    case 'b':
      return binary(value);
    case 'x':
      return hexadecimal(value);
    case 'X':
      return hexadecimal(value)?.toUpperCase();
    case 'o':
      return octal(value);
  }
}

/** How a style writes what stands in a list or map. */
type ElementText = (value: Value) => string | CelError;

export function listText(list: readonly Value[], elementText: ElementText): string | CelError {
  const texts: string[] = [];
  for (const element of list) {
    const text = elementText(element);
    if (text instanceof CelError) return text;
    texts.push(text);
  }
  return `[${texts.join(', ')}]`;
}

/** Entries are in the order of the texts of their keys. */
export function mapText(map: JsonMap | CelMap, separator: string, elementText: ElementText): string | CelError {
  const texts: { key: string; value: string }[] = [];
  for (const entry of mapEntries(map)) {
    const key = elementText(entry[0]);
    if (key instanceof CelError) return key;
    const value = elementText(entry[1]);
    if (value instanceof CelError) return value;
    texts.push({ key, value });
  }
  texts.sort((left, right) => compareText(left.key, right.key));
  return `{${texts.map(({ key, value }) => `${key}${separator}${value}`).join(', ')}}`;
}
