/** The strings that a schema accepts, and whether one pattern includes another. */
import { type Answer, StringSet } from './string-set.ts';

/** The keywords that constrain strings; a whole schema can be passed. */
export interface StringConstraints {
  readonly type?: string;
  readonly pattern?: string;
  /** More patterns that must match. */
  readonly patterns?: readonly string[];
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Values that are not strings are ignored. */
  readonly enum?: readonly unknown[];
  readonly format?: string;
  readonly allOf?: readonly StringConstraints[];
  readonly anyOf?: readonly StringConstraints[];
  readonly oneOf?: readonly StringConstraints[];
  readonly not?: StringConstraints;
}

export function stringsOf(constraints: StringConstraints): StringSet {
  const { type, pattern, patterns = [], minLength, maxLength, format, allOf = [], anyOf, oneOf, not } = constraints;
  if (type !== undefined && type !== 'string') return StringSet.none;
  const parts: StringSet[] = allOf.map(stringsOf);
  if (constraints.enum !== undefined) parts.push(StringSet.enumeration(constraints.enum.filter(isText)));
  if (minLength !== undefined || maxLength !== undefined) parts.push(StringSet.lengths(minLength ?? 0, maxLength));
  if (format !== undefined) parts.push(StringSet.format(format));
  for (const each of pattern === undefined ? patterns : [pattern, ...patterns]) parts.push(StringSet.pattern(each));
  if (anyOf !== undefined) parts.push(unionOf(anyOf.map(stringsOf)));
  if (oneOf !== undefined) parts.push(exactlyOne(oneOf.map(stringsOf)));
  if (not !== undefined) parts.push(StringSet.all.minus(stringsOf(not)));
  return parts.reduce((all, each) => all.intersect(each), StringSet.all);
}

/** Whether every string that `narrow` matches is matched by `wide` as well. */
export const patternIncludes = (wide: string, narrow: string): Answer<string> =>
  StringSet.pattern(wide).includes(StringSet.pattern(narrow));

const isText = (value: unknown): value is string => typeof value === 'string';

const unionOf = (sets: readonly StringSet[]): StringSet => sets.reduce((all, each) => all.union(each), StringSet.none);

const exactlyOne = (sets: readonly StringSet[]): StringSet =>
  unionOf(sets.map((each, index) => sets.reduce((left, other, at) => (at === index ? left : left.minus(other)), each)));
