/**
 * Values of a schema to try rules on: at the places that the rules read, values around what they compare with; elsewhere only what is
 * required. Every choice is put to `choose`, so that all values can be gone through, or some at random.
 */
import { escapeProperty } from '../../cel/index.ts';
import type { CrdSchema } from '../schema.ts';
import type { Literals, Reads } from './literals.ts';
import { Scalars } from './scalars.ts';

/** One of `count` alternatives, counted from 0. */
export type Choose = (count: number) => number;

/** Makes a value by the choices it is given; one that the schema refuses where all are refused that are tried. */
export type Draw = (choose: Choose) => unknown;

/** `after` is a schema that the values had better meet as well. */
export function candidates(schema: CrdSchema, after: CrdSchema, literals: Literals): Draw {
  return new Planner(literals).draw({ schema, hints: [after] }, literals.reads);
}

/** A place to fill, and what other schemas say of it: the new one, and alternatives of the schemas around it. */
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

  /** Without `reads` no rule looks there, and the first value will do. */
  draw(place: Place, reads: Reads | undefined): Draw {
    const { schema, hints } = place;
    if (schema['x-kubernetes-int-or-string'] === true || isScalar(schema.type)) {
      const values = this.#scalars.of(schema, hints);
      return (choose) => values[reads === undefined ? 0 : choose(values.length)];
    }
    if (schema.type === 'array') return this.#list(place, reads);
    return typeof schema.additionalProperties === 'object' ? this.#map(place, reads) : this.#object(place, reads);
  }

  #object(place: Place, reads: Reads | undefined): Draw {
    const { schema } = place;
    const parts = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const read = reads?.fields.get(name) ?? reads?.fields.get(escapeProperty(name) ?? name);
      const isRequired = schema.required?.includes(name) === true;
      if (!isRequired && read === undefined) return [];
      const hints = judgesOf(place).flatMap((each) => each.properties?.[name] ?? []);
      return [{ name, isRequired, draw: this.draw({ schema: property, hints }, read) }];
    });
    return (choose) => {
      const value: Record<string, unknown> = {};
      for (const { name, isRequired, draw } of parts) if (isRequired || choose(2) === 1) value[name] = draw(choose);
      return value;
    };
  }

  #list(place: Place, reads: Reads | undefined): Draw {
    const { items, minItems = 0, maxItems } = place.schema;
    if (items === undefined) return () => [];
    const hints = judgesOf(place).flatMap((each) => each.items ?? []);
    const draw = this.draw({ schema: items, hints }, inside(reads));
    const lengths = reads === undefined ? [minItems] : this.#counts(minItems, maxItems);
    return (choose) => {
      const length = lengths[choose(lengths.length)] ?? minItems;
      // Rules about lists are often about elements that are alike.
      if (length > 1 && reads !== undefined && choose(2) === 1) return this.#alike(place.schema, length, draw(choose));
      return Array.from({ length }, () => draw(choose));
    };
  }

  /** Elements that are equal, but for the keys of a list that is a map. */
  #alike(schema: CrdSchema, length: number, first: unknown): readonly unknown[] {
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    const others = (key: string): readonly unknown[] => this.#scalars.of(schema.items?.properties?.[key] ?? {}, []);
    return Array.from({ length }, (_, at) => {
      if (at === 0 || typeof first !== 'object' || keys.length === 0) return first;
      return { ...first, ...Object.fromEntries(keys.map((key) => [key, others(key)[at]])) };
    });
  }

  #map(place: Place, reads: Reads | undefined): Draw {
    const schema = place.schema.additionalProperties as CrdSchema;
    const { minProperties = 0, maxProperties } = place.schema;
    const hints = judgesOf(place).flatMap(({ additionalProperties: each }) => (typeof each === 'object' ? each : []));
    const fields = [...(reads?.fields.keys() ?? [])];
    const named = new Map(fields.map((key) => [key, this.draw({ schema, hints }, reads?.fields.get(key))]));
    const other = this.draw({ schema, hints }, inside(reads));
    const counts = reads === undefined ? [minProperties] : this.#counts(minProperties, maxProperties);
    return (choose) => {
      const count = counts[choose(counts.length)] ?? minProperties;
      const keys = [...fields, ...this.#literals.texts, ...Array.from({ length: count }, (_, at) => `key${at}`)];
      const from = reads === undefined || count === 0 ? 0 : choose(keys.length - count + 1);
      const chosen = keys.slice(from, from + count);
      return Object.fromEntries(chosen.map((key) => [key, (named.get(key) ?? other)(choose)]));
    };
  }

  /** How many elements to try: few, and around the numbers of the rules. */
  #counts(least: number, most: number | undefined): readonly number[] {
    const wished = [least, 0, 1, 2, most ?? 0, ...(this.#literals.sizes ? this.#scalars.around : [])];
    const upper = Math.min(most ?? MAX_ITEMS, MAX_ITEMS);
    return [...new Set(wished.filter((each) => Number.isInteger(each) && each >= least && each <= upper))];
  }
}

/** Elements of what a rule looks at may matter even where it names none of them. */
const inside = (reads: Reads | undefined): Reads | undefined =>
  reads?.elements ?? (reads === undefined ? undefined : { fields: new Map(), elements: undefined });

/** All that a value at the place is judged by besides the keywords of the schema itself. */
const judgesOf = ({ schema, hints }: Place): readonly CrdSchema[] => [
  ...alternativesOf(schema),
  ...hints.flatMap((each) => [each, ...alternativesOf(each)]),
];

const alternativesOf = ({ allOf = [], anyOf = [], oneOf = [] }: CrdSchema): readonly CrdSchema[] =>
  [...allOf, ...anyOf, ...oneOf].flatMap((each) => [each, ...alternativesOf(each)]);

const isScalar = (type: string | undefined): boolean =>
  type === 'string' || type === 'boolean' || type === 'integer' || type === 'number';
