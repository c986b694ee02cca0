/** The parts of `format` that both implementations of cel-go share; a style supplies the parts that differ. */
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
  /** The types that each clause accepts. %s accepts the same types in every style, and %X the types of %x. */
  readonly rules: Readonly<Record<Exclude<Verb, 's' | 'X'>, ClauseRule>>;
  readonly limits?: TemplateLimits;
  /** The text functions for %s, %d, %f and %e return undefined for a type that the clause does not accept. */
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

/** Formats an element of a list or map in the given style. */
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

/** `mapText` formats a map with entries sorted by the text of their keys. */
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
