/** Builds one sample from the choices that were made: the required parts, the wishes, and the chosen optional parts. */
import { canonical } from '../../canonical.ts';
import type { CrdSchema } from '../../schema.ts';
import type { Step } from '../fault.ts';
import { copied, isObject } from '../json.ts';
import { type Check, Run } from '../run.ts';
import { structureCheck } from '../structure.ts';
import type { Choices } from './choices.ts';
import { type Alternative, alternativesOf, namesToAvoid } from './flatten.ts';
import { type Mentioned, mentions } from './literals.ts';
import { scalarsFor, textsByRules } from './scalars.ts';
import { Trail } from './trail.ts';
import { WishNode } from './wish.ts';

/** The marker for "no value": no candidate fits the schema. */
export const NONE = Symbol('none');

/** The largest depth: a schema that requires itself recursively has no instance. */
const MAX_DEPTH = 100;

const NO_WISH = new WishNode();

export class Builder {
  readonly #choices: Choices;
  readonly #mentioned: Mentioned;
  readonly #at = new Trail();

  constructor(choices: Choices, mentioned: Mentioned) {
    this.#choices = choices;
    this.#mentioned = mentioned;
  }

  /** `distinct` numbers the samples that must differ from each other. */
  build(schema: CrdSchema, wish: WishNode = NO_WISH, distinct = 0): unknown {
    if (wish.fixed !== undefined) return wish.fixed.value;
    if (this.#at.steps.length > MAX_DEPTH) return NONE;
    const wished =
      wish.matching.length === 0 ? schema : { ...schema, allOf: [...(schema.allOf ?? []), ...wish.matching] };
    const ways = alternativesOf(wished);
    const start = this.#choices.pick(this.#at, 'way', ways.length);
    for (let turn = 0; turn < ways.length; turn++) {
      const way = ways[(start + turn) % ways.length] as Alternative;
      const made = this.#build(way, wished, wish, distinct);
      if (made !== NONE) return made;
    }
    return NONE;
  }

  #build(way: Alternative, whole: CrdSchema, wish: WishNode, distinct: number): unknown {
    const { schema } = way;
    if (schema.type === 'object' || (schema.type === undefined && wish.names.length > 0)) {
      return this.#nullOr(schema, wish, () => this.#object(way, wish));
    }
    if (schema.type === 'array' || (schema.type === undefined && wish.length > 0)) {
      return this.#nullOr(schema, wish, () => this.#list(way, wish));
    }
    return this.#scalar(way, whole, distinct);
  }

  #nullOr(schema: CrdSchema, wish: WishNode, make: () => unknown): unknown {
    const mayBeNull = schema.nullable === true && wish.below.size === 0 && schema.enum === undefined;
    if (mayBeNull && this.#choices.pick(this.#at, 'null', 5) === 4) return null;
    if (schema.enum !== undefined && schema.enum.length > 0 && wish.below.size === 0) {
      const at = this.#choices.pick(this.#at, 'value', schema.enum.length);
      return copied(schema.enum[at]);
    }
    return make();
  }

  #scalar(way: Alternative, whole: CrdSchema, distinct: number): unknown {
    const candidates = candidatesFor(way, whole, this.#mentioned, this.#isRuled(whole));
    if (distinct === 0 && this.#choices.isPlainest(this.#at, 'value')) return copied(candidates.first);
    const { all } = candidates;
    if (all.length === 0) return NONE;
    const at = this.#choices.pick(this.#at, 'value', all.length) + distinct;
    return copied(all[at % all.length]);
  }

  /** Whether rules read the values here. */
  #isRuled(schema: CrdSchema): boolean {
    if (schema['x-kubernetes-validations'] !== undefined) return true;
    const name = this.#at.steps.findLast((step) => typeof step === 'string');
    return name !== undefined && mentions(this.#mentioned, name);
  }

  #inside<T>(step: Step, make: () => T): T {
    this.#at.enter(step);
    const made = make();
    this.#at.leave();
    return made;
  }

  #object(way: Alternative, wish: WishNode): unknown {
    const { schema } = way;
    const { properties = {}, required = [], minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema;
    const needed = new Set(required.filter((name) => !fillsIn(properties, name)));
    if (schema['x-kubernetes-embedded-resource'] === true) for (const name of ['apiVersion', 'kind']) needed.add(name);
    const avoided = namesToAvoid(way.not);
    const made: Record<string, unknown> = {};
    const add = (name: string): boolean => {
      const value = this.#inside(name, () => this.#property(schema, name, wish.below.get(name)));
      if (value !== NONE) setOwn(made, name, value);
      return value !== NONE;
    };
    const isAbsent = (name: string): boolean => wish.below.get(name)?.absent === true;
    for (const name of needed) if (!isAbsent(name) && !add(name)) return NONE;
    for (const name of wish.names)
      if (!Object.hasOwn(made, name) && wish.below.get(name)?.present === true && !add(name)) return NONE;
    const more = (names: readonly string[]): readonly string[] =>
      names.filter((name) => !Object.hasOwn(made, name) && !isAbsent(name));
    const asked = this.#choices.fieldsOf(this.#at);
    const asking =
      asked === undefined ? Object.keys(properties) : [...asked].filter((name) => Object.hasOwn(properties, name));
    for (const name of more(asking)) {
      if (Object.keys(made).length >= maxProperties) break;
      const object = this.#at.text;
      if (!avoided.has(name) && this.#inside(name, () => this.#choices.isPresent(object, name, this.#at))) add(name);
    }
    this.#fill(schema, made, minProperties, maxProperties, add);
    if (Object.keys(made).length >= minProperties) return made;
    for (const name of more(Object.keys(properties))) {
      if (Object.keys(made).length >= minProperties) break;
      add(name);
    }
    return made;
  }

  /** Adds entries to a map, as many as required or chosen. */
  #fill(schema: CrdSchema, made: object, fewest: number, most: number, add: (name: string) => boolean): void {
    if (typeof schema.additionalProperties !== 'object') return;
    const wanted = Math.max(fewest, Math.min(most, this.#choices.pick(this.#at, 'size', 4)));
    const names = ['key', ...this.#mentioned.texts];
    const shift = this.#choices.pick(this.#at, 'key', names.length);
    for (let index = 0; Object.keys(made).length < wanted && index < wanted + 10; index++) {
      const name = index < names.length ? (names[(index + shift) % names.length] as string) : `key${index}`;
      if (!Object.hasOwn(made, name) && !add(name)) return;
    }
  }

  #property(schema: CrdSchema, name: string, wish: WishNode | undefined): unknown {
    const { properties = {}, additionalProperties } = schema;
    const embedded = schema['x-kubernetes-embedded-resource'] === true ? EMBEDDED[name] : undefined;
    if (Object.hasOwn(properties, name)) {
      const known = properties[name] as CrdSchema;
      return this.build(embedded === undefined ? known : { ...embedded, ...known }, wish);
    }
    if (embedded !== undefined) return this.build(embedded, wish);
    return this.build(typeof additionalProperties === 'object' ? additionalProperties : ANYTHING, wish);
  }

  #list({ schema }: Alternative, wish: WishNode): unknown {
    const { items = ANYTHING, minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
    const chosen = Math.min(maxItems, this.#choices.pick(this.#at, 'length', 4));
    const length = Math.max(minItems, wish.length, chosen);
    const type = schema['x-kubernetes-list-type'];
    const keys = type === 'map' ? (schema['x-kubernetes-list-map-keys'] ?? []) : [];
    const seen = new Set<string>();
    const made: unknown[] = [];
    for (let index = 0; index < length; index++) {
      const element = this.#inside(index, () => this.#element(items, keys, wish.below.get(index), seen, type));
      if (element === NONE) return made.length >= Math.max(minItems, wish.length) ? made : NONE;
      made.push(element);
    }
    return made;
  }

  /** Builds an element that differs from the previous ones if the list has type set or map. */
  #element(
    items: CrdSchema,
    keys: readonly string[],
    wish: WishNode | undefined,
    seen: Set<string>,
    type: string | undefined,
  ): unknown {
    if (type !== 'set' && type !== 'map') return this.build(items, wish);
    for (let turn = 0; turn < DISTINCT_TURNS; turn++) {
      const element = type === 'set' ? this.build(items, wish, turn) : this.#keyed(items, keys, wish, turn);
      if (element === NONE) return NONE;
      const identity = canonical(type === 'set' ? element : keysOf(element, keys, items));
      if (seen.has(identity)) continue;
      seen.add(identity);
      return element;
    }
    return NONE;
  }

  /**
   * Builds an element with explicit keys, counted up like digits. A key with a default is set too, unless a wish
   * removes it.
   */
  #keyed(items: CrdSchema, keys: readonly string[], wish: WishNode | undefined, turn: number): unknown {
    const built = this.build(items, wish);
    if (typeof built !== 'object' || built === null) return built;
    // A wished value belongs to the caller and must not be modified.
    const element = { ...built };
    let rest = turn;
    for (const key of keys) {
      const schema = items.properties?.[key];
      const asked = wish?.below.get(key);
      const isLeftOut = asked?.absent === true && fillsIn(items.properties ?? {}, key);
      if (schema === undefined || asked?.fixed !== undefined || isLeftOut) continue;
      const ways = alternativesOf(schema).map((way) => candidatesFor(way, schema, this.#mentioned, false));
      if (turn === 0) {
        const first = ways.map((way) => way.first).find((each) => each !== NONE);
        if (first === undefined) return NONE;
        if (!Object.hasOwn(element, key)) setOwn(element, key, first);
        continue;
      }
      const candidates = ways.flatMap(({ all }) => all);
      if (candidates.length === 0) return NONE;
      setOwn(element, key, candidates[rest % candidates.length]);
      rest = Math.floor(rest / candidates.length);
    }
    return element;
  }
}

const DISTINCT_TURNS = 200;
const ANYTHING: CrdSchema = { 'x-kubernetes-preserve-unknown-fields': true };

/** The fields of embedded resources, whether their schema names them or not. */
const EMBEDDED: Readonly<Record<string, CrdSchema | undefined>> = {
  apiVersion: { type: 'string', enum: ['v1', 'apps/v1'] },
  kind: { type: 'string', enum: ['ConfigMap', 'Deployment'] },
  metadata: { type: 'object', properties: { name: { type: 'string', format: 'k8s-short-name' } } },
};

const fillsIn = (properties: Readonly<Record<string, CrdSchema>>, name: string): boolean => {
  const preset = Object.hasOwn(properties, name) ? properties[name]?.default : undefined;
  return preset !== undefined && preset !== null;
};

/** A missing key has the value of its default. An element that is null has no keys. */
const keysOf = (element: unknown, keys: readonly string[], items: CrdSchema): unknown =>
  isObject(element) ? keys.map((key) => element[key] ?? items.properties?.[key]?.default ?? null) : null;

function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * The distinct values that a schema accepts, computed lazily. The first one usually suffices, and finding more can
 * require automata.
 */
class Candidates {
  readonly mentioned: Mentioned;
  readonly ruled: boolean;
  readonly #way: Alternative;
  readonly #schema: CrdSchema;
  readonly #check: Check;
  #first: { readonly value: unknown } | undefined;
  #all: readonly unknown[] | undefined;

  constructor(way: Alternative, schema: CrdSchema, mentioned: Mentioned, ruled: boolean) {
    this.mentioned = mentioned;
    this.ruled = ruled;
    this.#way = way;
    this.#schema = schema;
    this.#check = structureCheck(schema);
  }

  /** NONE if there is no value. */
  get first(): unknown {
    this.#first ??= { value: this.#findFirst() };
    return this.#first.value;
  }

  get all(): readonly unknown[] {
    this.#all ??= this.#findAll();
    return this.#all;
  }

  #findFirst(): unknown {
    for (const each of scalarsFor(this.#way, this.mentioned)) if (this.#takes(each)) return each;
    const [first = NONE] = this.all;
    return first;
  }

  #findAll(): readonly unknown[] {
    const { type, enum: allowed, 'x-kubernetes-int-or-string': mixed } = this.#schema;
    const isText = type === 'string' || type === undefined;
    const more = this.ruled && isText && allowed === undefined ? textsByRules(this.#way, this.mentioned) : [];
    const values = new Map<string, unknown>();
    for (const each of [...scalarsFor(this.#way, this.mentioned), ...more]) {
      if (this.#takes(each)) values.set(canonical(each), each);
    }
    const isOpen = type === undefined && mixed !== true;
    if (isOpen && values.size > 0) values.set('{}', {});
    return [...values.values()];
  }

  #takes(value: unknown): boolean {
    const run = new Run();
    this.#check(value, run, undefined);
    return run.faults.length === 0;
  }
}

/** A cache: the candidates of an alternative never change. */
const CANDIDATES = new WeakMap<Alternative, Candidates>();

function candidatesFor(way: Alternative, schema: CrdSchema, mentioned: Mentioned, ruled: boolean): Candidates {
  const known = CANDIDATES.get(way);
  if (known?.mentioned === mentioned && known.ruled === ruled) return known;
  const made = new Candidates(way, schema, mentioned, ruled);
  CANDIDATES.set(way, made);
  return made;
}
