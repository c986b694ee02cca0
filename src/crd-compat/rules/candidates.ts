/**
 * Values of a schema to try rules on. The places that the rules read get values around the literals of the rules; the
 * rest contains only required fields. `choose` makes every choice, so that the caller can enumerate all values or draw
 * some at random.
 */
import { escapeProperty } from '../../cel/internal.ts';
import type { CrdSchema } from '../schema.ts';
import type { Choose } from './choices.ts';
import type { Literals, Reads } from './literals.ts';
import { Scalars } from './scalars.ts';

/**
 * Builds a value from the choices of `choose`. If the schema refuses all values that are tried, it refuses the result
 * too.
 */
export type Draw = (choose: Choose) => unknown;

/** `candidates` returns a function that builds values. The values should satisfy `after` as well. */
export function candidates(schema: CrdSchema, after: CrdSchema, literals: Literals): Draw {
  const plan = new Planner(literals).plan({ schema, hints: [after] }, literals.reads);
  return (choose) => plan.make(choose);
}

/** How to build values of a place. */
interface Plan {
  make(choose: Choose): unknown;
  /** Returns a value that differs from another one in a single part. */
  vary(value: unknown, choose: Choose): unknown;
}

/**
 * A place to fill, with the schemas that its values should satisfy as well: the new schema, and alternatives of
 * surrounding schemas.
 */
interface Place {
  readonly schema: CrdSchema;
  readonly hints: readonly CrdSchema[];
}

const MAX_ITEMS = 12;

class Planner {
  readonly #literals: Literals;
  readonly #scalars: Scalars;

  constructor(literals: Literals) {
    this.#literals = literals;
    this.#scalars = new Scalars(literals);
  }

  /** Without `reads` no rule reads the place, and its first value suffices. */
  plan(place: Place, reads: Reads | undefined): Plan {
    const { schema } = place;
    if (schema['x-kubernetes-int-or-string'] === true || isScalar(schema.type)) return this.#scalar(place, reads);
    if (schema.type === 'array') return redraw(this.#list(place, reads));
    return typeof schema.additionalProperties === 'object'
      ? redraw(this.#map(place, reads))
      : this.#object(place, reads);
  }

  /** The values are computed on first use, because that can require automata for patterns. */
  #scalar({ schema, hints }: Place, reads: Reads | undefined): Plan {
    if (reads === undefined) return redraw(() => this.#scalars.first(schema));
    return redraw((choose) => {
      const values = this.#scalars.of(schema, hints);
      return values[choose(values.length)];
    });
  }

  #object(place: Place, reads: Reads | undefined): Plan {
    const { schema } = place;
    const parts = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const read = reads?.fields.get(name) ?? reads?.fields.get(escapeProperty(name) ?? name);
      const isRequired = schema.required?.includes(name) === true;
      if (!isRequired && read === undefined) return [];
      const hints = judgesOf(place).flatMap((each) => each.properties?.[name] ?? []);
      return [{ name, isRequired, isRead: read !== undefined, plan: this.plan({ schema: property, hints }, read) }];
    });
    const varied = parts.filter(({ isRead }) => isRead);
    return {
      make(choose) {
        const value: Record<string, unknown> = {};
        for (const { name, isRequired, plan } of parts)
          if (isRequired || choose(2) === 1) value[name] = plan.make(choose);
        return value;
      },
      vary(value, choose) {
        const part = varied[choose(varied.length)];
        if (part === undefined) return value;
        const { [part.name]: was, ...rest } = value as Readonly<Record<string, unknown>>;
        if (was === undefined) return { ...rest, [part.name]: part.plan.make(choose) };
        if (!part.isRequired && choose(2) === 0) return rest;
        return { ...rest, [part.name]: part.plan.vary(was, choose) };
      },
    };
  }

  #list(place: Place, reads: Reads | undefined): Draw {
    const { items, minItems = 0, maxItems } = place.schema;
    if (items === undefined) return () => [];
    const hints = judgesOf(place).flatMap((each) => each.items ?? []);
    const plan = this.plan({ schema: items, hints }, inside(reads));
    const lengths = reads === undefined ? [minItems] : this.#counts(minItems, maxItems);
    return (choose) => {
      const length = lengths[choose(lengths.length)] ?? minItems;
      // Rules about lists often concern elements that are equal or nearly equal.
      const likeness = length > 1 && reads !== undefined ? choose(3) : 0;
      if (likeness === 0) return Array.from({ length }, () => plan.make(choose));
      const first = plan.make(choose);
      const last = likeness === 1 ? first : plan.vary(first, choose);
      return this.#distinct(place.schema, [...Array.from({ length: length - 1 }, () => first), last]);
    };
  }

  /** Gives each element its own keys if the list is a map. */
  #distinct(schema: CrdSchema, elements: readonly unknown[]): readonly unknown[] {
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    if (keys.length === 0) return elements;
    const others = (key: string): readonly unknown[] => this.#scalars.of(schema.items?.properties?.[key] ?? {}, []);
    return elements.map((each, at) => {
      if (at === 0 || typeof each !== 'object') return each;
      return { ...each, ...Object.fromEntries(keys.map((key) => [key, others(key)[at]])) };
    });
  }

  #map(place: Place, reads: Reads | undefined): Draw {
    const schema = place.schema.additionalProperties as CrdSchema;
    const { minProperties = 0, maxProperties } = place.schema;
    const hints = judgesOf(place).flatMap(({ additionalProperties: each }) => (typeof each === 'object' ? each : []));
    const fields = [...(reads?.fields.keys() ?? [])];
    const named = new Map(fields.map((key) => [key, this.plan({ schema, hints }, reads?.fields.get(key))]));
    const other = this.plan({ schema, hints }, inside(reads));
    const counts = reads === undefined ? [minProperties] : this.#counts(minProperties, maxProperties);
    return (choose) => {
      const count = counts[choose(counts.length)] ?? minProperties;
      const words = reads === undefined ? [] : this.#scalars.vocabulary;
      const keys = [
        ...fields,
        ...this.#literals.texts,
        ...words,
        ...Array.from({ length: count }, (_, at) => `key${at}`),
      ];
      const from = reads === undefined || count === 0 ? 0 : choose(keys.length - count + 1);
      const chosen = keys.slice(from, from + count);
      return Object.fromEntries(chosen.map((key) => [key, (named.get(key) ?? other).make(choose)]));
    };
  }

  /** The numbers of elements to try: small ones, and those around the numbers in the rules. */
  #counts(least: number, most: number | undefined): readonly number[] {
    const wished = [least, 0, 1, 2, most ?? 0, ...(this.#literals.sizes ? this.#scalars.around : [])];
    const upper = Math.min(most ?? MAX_ITEMS, MAX_ITEMS);
    return [...new Set(wished.filter((each) => Number.isInteger(each) && each >= least && each <= upper))];
  }
}

/** A plan that varies a value by drawing it again. */
const redraw = (make: Draw): Plan => ({ make, vary: (_, choose) => make(choose) });

/** The elements of a value that a rule reads can matter even if the rule names none of them. */
const inside = (reads: Reads | undefined): Reads | undefined =>
  reads?.elements ?? (reads === undefined ? undefined : { fields: new Map(), elements: undefined });

/** The schemas that a value at the place must satisfy, besides the keywords of its own schema. */
const judgesOf = ({ schema, hints }: Place): readonly CrdSchema[] => [
  ...alternativesOf(schema),
  ...hints.flatMap((each) => [each, ...alternativesOf(each)]),
];

const alternativesOf = ({ allOf = [], anyOf = [], oneOf = [] }: CrdSchema): readonly CrdSchema[] =>
  [...allOf, ...anyOf, ...oneOf].flatMap((each) => [each, ...alternativesOf(each)]);

const isScalar = (type: string | undefined): boolean =>
  type === 'string' || type === 'boolean' || type === 'integer' || type === 'number';
