/** Numbers and strings to try rules on: values that the schema accepts, around the literals of the rules. */
import { type StringSet, stringsOf } from '../pattern/index.ts';
import type { CrdSchema } from '../schema.ts';
import type { Literals } from './literals.ts';
import { vocabularyOf } from './vocabulary.ts';

const MAX_LENGTH = 300;
const MAX_PATTERNS = 4;

export class Scalars {
  readonly #literals: Literals;
  readonly #known = new Map<CrdSchema, readonly unknown[]>();
  readonly #firsts = new Map<CrdSchema, unknown>();
  /** The numbers of the rules and their neighbours. */
  readonly around: readonly number[];
  /** Strings that the functions of the rules accept. */
  readonly vocabulary: readonly string[];

  constructor(literals: Literals) {
    this.#literals = literals;
    this.around = unique(literals.numbers.flatMap((each) => [each, each - 1, each + 1]));
    this.vocabulary = vocabularyOf(literals);
  }

  /** Returns one value, for a place that no rule reads. */
  first(schema: CrdSchema): unknown {
    const known = this.#firsts.get(schema);
    if (known !== undefined) return known;
    const isText = schema.type === 'string' && schema.enum === undefined;
    const [value] = isText ? stringsOf(schema).examples(1) : this.#values(schema, []);
    this.#firsts.set(schema, value);
    return value;
  }

  /** Returns values that should satisfy the `hints` as well. */
  of(schema: CrdSchema, hints: readonly CrdSchema[]): readonly unknown[] {
    const known = this.#known.get(schema);
    if (known !== undefined) return known;
    const values = this.#values(schema, hints);
    this.#known.set(schema, values);
    return values;
  }

  #values(schema: CrdSchema, hints: readonly CrdSchema[]): readonly unknown[] {
    if (schema.enum !== undefined) return schema.enum;
    if (schema['x-kubernetes-int-or-string'] === true) {
      return [...this.#numbers(schema, hints), ...this.#texts({ ...schema, type: 'string' }, hints)];
    }
    if (schema.type === 'boolean') return [false, true];
    return schema.type === 'string' ? this.#texts(schema, hints) : this.#numbers(schema, hints);
  }

  #numbers(schema: CrdSchema, hints: readonly CrdSchema[]): readonly number[] {
    const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, multipleOf } = schema;
    const bounds = [schema, ...hints]
      .flatMap((each) => [each.minimum, each.maximum])
      .filter((each) => each !== undefined);
    const wished = [0, 1, ...this.around, ...bounds.flatMap((each) => [each, each - 1, each + 1]), -1];
    if (schema.type === 'number') wished.push(...this.#literals.numbers.map((each) => each + 0.5));
    if (multipleOf !== undefined) wished.push(...wished.map((each) => Math.ceil(each / multipleOf) * multipleOf));
    const kept = wished.filter((each) => each >= minimum && each <= maximum);
    return unique(
      kept.filter(schema.type === 'number' ? Number.isFinite : Number.isSafeInteger).map((each) => each + 0),
    );
  }

  #texts(schema: CrdSchema, hints: readonly CrdSchema[]): readonly string[] {
    const set = stringsOf(schema);
    const { texts, patterns, sizes } = this.#literals;
    const found = [...set.examples(3), ...[...texts, ...this.vocabulary].filter((each) => set.has(each) !== false)];
    for (const each of regions(set, patterns.slice(0, MAX_PATTERNS))) found.push(...each.examples(2));
    for (const hint of hints) found.push(...set.intersect(stringsOf(hint)).examples(2));
    if (sizes) found.push(...this.#sized(set));
    // Strings that start or end with a literal of the rules, or contain it.
    const accepted = (text: string): boolean => set.has(text) !== false;
    for (const each of texts) {
      const longer = [`${each}a`, `a${each}`].filter(accepted);
      found.push(...(longer.length > 0 ? longer : [`a${each}a`].filter(accepted)));
    }
    return unique(found);
  }

  #sized(set: StringSet): readonly string[] {
    const lengths = this.around.filter((each) => Number.isInteger(each) && each >= 0 && each <= MAX_LENGTH);
    return lengths.flatMap((length) => set.intersect(stringsOf({ minLength: length, maxLength: length })).examples(1));
  }
}

/** The part of the set for each combination of patterns that match and patterns that do not. */
function regions(set: StringSet, patterns: readonly string[]): readonly StringSet[] {
  return patterns.reduce<readonly StringSet[]>(
    (sets, pattern) => {
      const matched = stringsOf({ pattern });
      return sets.flatMap((each) => [each.intersect(matched), each.minus(matched)]);
    },
    [set],
  );
}

const unique = <Each>(values: readonly Each[]): readonly Each[] => [...new Set(values)];
