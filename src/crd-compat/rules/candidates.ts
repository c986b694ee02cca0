/**
 * Values of a schema to try rules on: at the places that the rules read, values around what they compare with; elsewhere only what is
 * required. Every choice is put to `choose`, so that all values can be gone through, or some at random.
 */
import { escapeProperty } from '../../cel/index.ts';
import { type StringSet, stringsOf } from '../pattern/index.ts';
import type { CrdSchema } from '../schema.ts';
import type { Literals, Reads } from './literals.ts';

/** One of `count` alternatives, counted from 0. */
export type Choose = (count: number) => number;

const MAX_LENGTH = 300;
const MAX_ITEMS = 12;
const MAX_PATTERNS = 4;

export class Candidates {
  readonly #literals: Literals;
  readonly #scalars = new Map<CrdSchema, readonly unknown[]>();

  constructor(literals: Literals) {
    this.#literals = literals;
  }

  /** undefined where the schema takes none of what is tried. */
  draw(schema: CrdSchema, choose: Choose): unknown {
    return this.#draw(schema, this.#literals.reads, choose);
  }

  /** `hints`: what alternatives of the schema around it say of the place. */
  #draw(schema: CrdSchema, reads: Reads | undefined, choose: Choose, hints: readonly CrdSchema[] = []): unknown {
    if (schema['x-kubernetes-int-or-string'] === true || isScalar(schema.type)) {
      const values = this.#scalarsOf(schema, hints);
      return values[reads === undefined ? 0 : choose(values.length)];
    }
    if (schema.type === 'array') return this.#list(schema, reads, choose);
    if (typeof schema.additionalProperties === 'object') return this.#map(schema, reads, choose);
    return this.#object(schema, reads, choose);
  }

  #object(schema: CrdSchema, reads: Reads | undefined, choose: Choose): unknown {
    const value: Record<string, unknown> = {};
    const alternatives = alternativesOf(schema);
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const read = reads?.fields.get(name) ?? reads?.fields.get(escapeProperty(name) ?? name);
      const isRequired = schema.required?.includes(name) === true;
      if (!isRequired && (read === undefined || choose(2) === 0)) continue;
      value[name] = this.#draw(
        property,
        read,
        choose,
        alternatives.flatMap((each) => each.properties?.[name] ?? []),
      );
    }
    return value;
  }

  #list(schema: CrdSchema, reads: Reads | undefined, choose: Choose): unknown {
    const { items, minItems = 0 } = schema;
    const lengths = reads === undefined ? [minItems] : this.#counts(minItems, schema.maxItems);
    const length = lengths[lengths.length === 1 ? 0 : choose(lengths.length)] ?? minItems;
    if (items === undefined) return [];
    const draw = (): unknown => this.#draw(items, reads?.elements ?? (reads && NOTHING_READ), choose);
    // Rules about lists are often about elements that are alike.
    if (length > 1 && reads !== undefined && choose(2) === 1) return this.#alike(schema, length, draw());
    return Array.from({ length }, draw);
  }

  /** Elements that are equal, but for the keys of a list that is a map. */
  #alike(schema: CrdSchema, length: number, first: unknown): readonly unknown[] {
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    const others = (key: string): readonly unknown[] => this.#scalarsOf(schema.items?.properties?.[key] ?? {});
    return Array.from({ length }, (_, at) => {
      if (at === 0 || typeof first !== 'object' || keys.length === 0) return first;
      return { ...first, ...Object.fromEntries(keys.map((key) => [key, others(key)[at]])) };
    });
  }

  #map(schema: CrdSchema, reads: Reads | undefined, choose: Choose): unknown {
    const inner = schema.additionalProperties as CrdSchema;
    const { minProperties = 0 } = schema;
    const counts = reads === undefined ? [minProperties] : this.#counts(minProperties, schema.maxProperties);
    const count = counts[counts.length === 1 ? 0 : choose(counts.length)] ?? minProperties;
    const keys = [
      ...(reads?.fields.keys() ?? []),
      ...this.#literals.texts,
      ...Array.from({ length: count }, (_, at) => `key${at}`),
    ];
    const value: Record<string, unknown> = {};
    const from = reads === undefined || count === 0 ? 0 : choose(Math.max(1, keys.length - count + 1));
    for (const key of keys.slice(from, from + count)) {
      value[key] = this.#draw(inner, reads?.fields.get(key) ?? reads?.elements ?? (reads && NOTHING_READ), choose);
    }
    return value;
  }

  /** How many elements to try: few, and around the numbers of the rules. */
  #counts(least: number, most: number | undefined): readonly number[] {
    const wished = [least, 0, 1, 2, most ?? 0, ...(this.#literals.sizes ? this.#around() : [])];
    const upper = Math.min(most ?? MAX_ITEMS, MAX_ITEMS);
    return unique(wished.filter((each) => Number.isInteger(each) && each >= least && each <= upper));
  }

  #around(): readonly number[] {
    return this.#literals.numbers.flatMap((each) => [each, each - 1, each + 1]);
  }

  #scalarsOf(schema: CrdSchema, hints: readonly CrdSchema[] = []): readonly unknown[] {
    const known = this.#scalars.get(schema);
    if (known !== undefined) return known;
    const values = this.#anyScalar(schema, hints);
    this.#scalars.set(schema, values);
    return values;
  }

  #anyScalar(schema: CrdSchema, hints: readonly CrdSchema[]): readonly unknown[] {
    if (schema['x-kubernetes-int-or-string'] === true) return [...this.#numbers(schema), ...this.#texts(schema, hints)];
    if (schema.type === 'boolean') return [false, true];
    return schema.type === 'string' ? this.#texts(schema, hints) : this.#numbers(schema);
  }

  #numbers(schema: CrdSchema): readonly unknown[] {
    if (schema.enum !== undefined) return schema.enum;
    const { minimum = -Infinity, maximum = Infinity, multipleOf } = schema;
    const wished = [0, 1, ...this.#around(), minimum, maximum, minimum + 1, maximum - 1, -1];
    if (schema.type === 'number') wished.push(...this.#literals.numbers.map((each) => each + 0.5));
    if (multipleOf !== undefined) wished.push(...wished.map((each) => Math.ceil(each / multipleOf) * multipleOf));
    const whole = schema.type === 'number' ? wished : wished.filter(Number.isSafeInteger);
    return unique(
      whole.filter((each) => Number.isFinite(each) && each >= minimum && each <= maximum).map((each) => each + 0),
    );
  }

  #texts(schema: CrdSchema, hints: readonly CrdSchema[]): readonly unknown[] {
    if (schema.enum !== undefined) return schema.enum;
    const set = stringsOf(schema['x-kubernetes-int-or-string'] === true ? { ...schema, type: 'string' } : schema);
    const { texts, patterns, sizes } = this.#literals;
    const found = [...set.examples(3), ...texts.filter((each) => set.has(each) !== false)];
    for (const each of this.#regions(set, patterns.slice(0, MAX_PATTERNS))) found.push(...each.examples(2));
    for (const hint of hints) found.push(...set.intersect(stringsOf(hint)).examples(2));
    if (sizes) found.push(...this.#sized(set));
    // One that only begins, or ends, with a text of the rules.
    for (const each of texts) found.push(...[`${each}a`, `a${each}`].filter((text) => set.has(text) !== false));
    return unique(found);
  }

  /** What is left of the set for each choice of patterns that match and patterns that do not. */
  #regions(set: StringSet, patterns: readonly string[]): readonly StringSet[] {
    return patterns.reduce<readonly StringSet[]>(
      (sets, pattern) => {
        const matched = stringsOf({ pattern });
        return sets.flatMap((each) => [each.intersect(matched), each.minus(matched)]);
      },
      [set],
    );
  }

  #sized(set: StringSet): readonly string[] {
    const lengths = unique(this.#around()).filter((each) => Number.isInteger(each) && each >= 0 && each <= MAX_LENGTH);
    return lengths.flatMap((length) => set.intersect(stringsOf({ minLength: length, maxLength: length })).examples(1));
  }
}

const NOTHING_READ: Reads = { fields: new Map(), elements: undefined };

/** All that a value may be judged by besides the schema itself. */
function alternativesOf({ allOf = [], anyOf = [], oneOf = [] }: CrdSchema): readonly CrdSchema[] {
  return [...allOf, ...anyOf, ...oneOf].flatMap((each) => [each, ...alternativesOf(each)]);
}

const isScalar = (type: string | undefined): boolean =>
  type === 'string' || type === 'boolean' || type === 'integer' || type === 'number';

const unique = <Each>(values: readonly Each[]): readonly Each[] => [...new Set(values)];
