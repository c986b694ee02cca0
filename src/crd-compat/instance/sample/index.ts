/**
 * Generates values that a schema accepts: the smallest, one with a wished value or shape at a place, or many different
 * ones.
 *
 * The first attempt contains only what is required. If the validator finds faults in it, the faulty values are chosen
 * again, with the literals of the rules among the candidates, as long as that makes progress. The number of attempts is
 * bounded and time plays no role, so the same question has the same answer everywhere.
 */
import { canonical } from '../../canonical.ts';
import { Random } from '../../random.ts';
import type { CrdSchema } from '../../schema.ts';
import { applyDefaults } from '../defaults.ts';
import { type Fault, pathText, type Step } from '../fault.ts';
import { isObject } from '../json.ts';
import { prune } from '../prune.ts';
import { type Validator, validator } from '../validate.ts';
import { Builder, NONE } from './build.ts';
import { Choices, EVERYTHING, type Focus, PLAIN, type Taken } from './choices.ts';
import { type Mentioned, mentionedBy, mentionedIn, mentions } from './literals.ts';
import { leadsInto } from './trail.ts';
import { type Wish, WishNode } from './wish.ts';

interface SampleOptions {
  /** Makes samples whole resources of this type; by default they are values of the schema alone. */
  readonly resource?: { readonly apiVersion: string; readonly kind: string; readonly name?: string };
  /** A further condition on the sample as it is written. */
  readonly where?: (sample: unknown) => boolean;
  /** The number of attempts; the default is 300. */
  readonly tries?: number;
}

const TRIES = 300;

/**
 * `sample` returns a value that the schema accepts after pruning and defaulting, as the API server validates it;
 * undefined if none was found.
 */
export function sample(schema: CrdSchema, wish: Wish | readonly Wish[] = [], options: SampleOptions = {}): unknown {
  const search = new Search(schema, Array.isArray(wish) ? wish : [wish as Wish], options);
  return search.find(new Random(1), PLAIN, options.tries ?? TRIES);
}

/** `samples` returns up to `count` different values that the schema accepts; fewer if no more are found. */
export function samples(
  schema: CrdSchema,
  options: SampleOptions & { readonly seed: number; readonly count: number },
): readonly unknown[] {
  const search = new Search(schema, [], options);
  const random = new Random(options.seed);
  const found = new Map<string, unknown>();
  const tries = options.tries ?? 30;
  for (let turn = 0; turn < options.count * 4 && found.size < options.count; turn++) {
    const made = search.find(random, turn === 0 ? PLAIN : EVERYTHING, tries);
    if (made !== undefined) found.set(canonical(made), made);
  }
  return [...found.values()];
}

interface Attempt {
  readonly value: unknown;
  readonly faults: readonly Fault[];
  readonly taken: Taken;
}

class Search {
  readonly #schema: CrdSchema;
  readonly #wish: WishNode;
  readonly #wishes: readonly Wish[];
  readonly #options: SampleOptions;
  readonly #mentioned: Mentioned;
  readonly #validator: Validator;
  readonly #wished: ReadonlyMap<Wish, Validator>;

  constructor(schema: CrdSchema, wishes: readonly Wish[], options: SampleOptions) {
    const prepared = prepare(schema, options.resource);
    this.#schema = prepared.schema;
    this.#wishes = wishes;
    this.#wish = WishNode.of(wishes);
    this.#options = options;
    this.#mentioned = prepared.mentioned;
    this.#validator = prepared.validator;
    this.#wished = new Map(
      wishes.flatMap((wish) => ('matching' in wish ? [[wish, validator(wish.matching, { resource: false })]] : [])),
    );
  }

  find(random: Random, start: Focus, tries: number): unknown {
    let best = this.#attempt(undefined, start, random);
    for (let turn = 1; turn < tries && (best === undefined || best.faults.length > 0); turn++) {
      const focus = best === undefined ? EVERYTHING : this.#focusOn(best.faults, random);
      const next = this.#attempt(best?.taken, focus, random);
      if (next !== undefined && (best === undefined || next.faults.length <= best.faults.length)) best = next;
    }
    return best?.faults.length === 0 ? best.value : undefined;
  }

  #attempt(kept: Taken | undefined, focus: Focus, random: Random): Attempt | undefined {
    const choices = new Choices(kept, focus, random);
    const value = new Builder(choices, this.#mentioned).build(this.#schema, this.#wish);
    return value === NONE ? undefined : { value, faults: this.#faultsOf(value), taken: choices.taken };
  }

  #faultsOf(value: unknown): readonly Fault[] {
    const resource = this.#options.resource !== undefined;
    const stored = applyDefaults(prune(value, this.#schema, { resource }).value, this.#schema);
    const faults = [...this.#validator.validate(stored)];
    for (const wish of this.#wishes) {
      const path = pathText(wish.path);
      const held = valueAt(value, wish.path);
      if ('matching' in wish && held === undefined) faults.push({ path, keyword: 'wish', message: 'is not there' });
      else if ('matching' in wish) {
        const wrong = this.#wished.get(wish)?.validate(held) ?? [];
        if (wrong.length > 0) faults.push({ path, keyword: 'wish', message: 'is not as wished' });
      }
      if ('absent' in wish && held !== undefined) faults.push({ path, keyword: 'wish', message: 'is there' });
    }
    if (faults.length === 0 && this.#options.where?.(value) === false) {
      faults.push({ path: '', keyword: 'wish', message: 'is not as wished' });
    }
    return faults;
  }

  /** Focuses on one fault or on all of them, and sometimes on everything below the fault. */
  #focusOn(faults: readonly Fault[], random: Random): Focus {
    const fault = faults[random.below(faults.length)] as Fault;
    const wide = random.below(4) === 0;
    const names = fault.rule === undefined ? undefined : mentionedIn(fault.rule);
    const near = fault.keyword === 'required' ? parentOf(fault.path) : fault.path;
    return {
      near,
      has: (at) => {
        if (!leadsInto(at.text, near)) return false;
        if (names === undefined || wide) return true;
        return at.steps.some((step) => typeof step === 'number' || mentions(names, step));
      },
    };
  }
}

interface Prepared {
  /** The schema, with the fields that every resource has if resources are wanted. */
  readonly schema: CrdSchema;
  readonly mentioned: Mentioned;
  readonly validator: Validator;
}

/** A cache: the preparation of a schema never changes, and one schema usually needs many samples. */
const PREPARED = new WeakMap<CrdSchema, Map<string, Prepared>>();

function prepare(schema: CrdSchema, resource: SampleOptions['resource']): Prepared {
  const known = PREPARED.get(schema) ?? new Map<string, Prepared>();
  PREPARED.set(schema, known);
  const name = resource === undefined ? '' : [resource.apiVersion, resource.kind, resource.name ?? ''].join(' ');
  const found = known.get(name) ?? {
    schema: resource === undefined ? schema : asResource(schema, resource),
    mentioned: mentionedBy(schema),
    validator: validator(schema, { resource: resource !== undefined }),
  };
  known.set(name, found);
  return found;
}

const parentOf = (path: string): string => path.replace(/(?:\.[^.[\]]+|\[[^\]]*\])$/, '');

function valueAt(value: unknown, path: readonly Step[]): unknown {
  let at = value;
  for (const step of path) {
    if (Array.isArray(at) && typeof step === 'number') at = at[step];
    else if (isObject(at) && Object.hasOwn(at, step)) at = at[step];
    else return undefined;
  }
  return at;
}

/** Adds the fields that every resource has, whatever its schema says. */
function asResource(schema: CrdSchema, resource: NonNullable<SampleOptions['resource']>): CrdSchema {
  const { apiVersion, kind, name } = resource;
  const { metadata } = schema.properties ?? {};
  const named: CrdSchema = { type: 'string', format: 'k8s-long-name', ...metadata?.properties?.name };
  const names: CrdSchema = name === undefined ? named : { ...named, enum: [name] };
  return {
    ...schema,
    type: 'object',
    required: [...new Set(['apiVersion', 'kind', 'metadata', ...(schema.required ?? [])])],
    properties: {
      apiVersion: { type: 'string', enum: [apiVersion] },
      kind: { type: 'string', enum: [kind] },
      metadata: { type: 'object', required: ['name'], properties: { name: names } },
      ...withoutMeta(schema.properties ?? {}),
    },
  };
}

function withoutMeta(properties: Readonly<Record<string, CrdSchema>>): Readonly<Record<string, CrdSchema>> {
  const { apiVersion: _1, kind: _2, metadata: _3, ...rest } = properties;
  return rest;
}
