/**
 * Reads an object the way the API server does in one version of a definition: pruned, defaulted, and accepted or
 * refused.
 */

import { same } from '../canonical.ts';
import { applyDefaults, type Fault, pathText, prune, type Validator, validator } from '../instance/index.ts';
import { isObject } from '../json.ts';
import type { CrdSchema } from '../schema.ts';
import type { Json } from '../verdict.ts';
import type { Step } from './draft.ts';

interface Read {
  readonly value: unknown;
  /** The paths of the pruned fields. */
  readonly pruned: readonly string[];
}

/** What becomes of an object: what clients read, and what the API server refuses. */
export interface Reading {
  read(object: unknown): Read;
  faults(read: unknown, old?: unknown): readonly Fault[];
}

/** The schema of one version. Its validator is built on first use. */
export class Reader implements Reading {
  readonly #schema: CrdSchema;
  readonly #prunes: boolean;
  readonly #objects: 'few' | 'many';
  #checks: Validator | undefined;
  #looksBack: boolean | undefined;

  constructor(schema: CrdSchema, prunes: boolean, objects: 'few' | 'many' = 'few') {
    this.#schema = schema;
    this.#prunes = prunes;
    this.#objects = objects;
  }

  read(object: unknown): Read {
    const { value, pruned } = this.prune(object);
    return { value: applyDefaults(value, this.#schema), pruned };
  }

  /** Reads an object that another version has set the defaults of. */
  prune(object: unknown): Read {
    return this.#prunes ? prune(object, this.#schema) : { value: object, pruned: [] };
  }

  faults(read: unknown, old?: unknown): readonly Fault[] {
    this.#checks ??= validator(this.#schema, { runs: this.#objects });
    return this.#checks.validate(read, old);
  }

  /** The faults of an update that changes almost nothing: rules with oldSelf also apply to unchanged values. */
  faultsOfUpdate(read: unknown): readonly Fault[] {
    this.#looksBack ??= JSON.stringify(this.#schema).includes('oldSelf');
    return this.#looksBack ? this.faults(touched(read), read) : [];
  }
}

/** A version that a client writes objects through. */
interface Writer {
  readonly apiVersion: string;
  readonly version: Reader;
  /** Its place among the versions on the way: the storage version can be the same one. */
  readonly at: number;
  /** Whether a new object is what counts: then what the version refuses is a fault. */
  readonly creates: boolean;
}

/**
 * An object on its way through several versions without a conversion webhook. It is pruned by each of them. The defaults
 * are those of the versions that it is requested and stored in; the last one, which only reads it, sets none.
 */
export class Passage implements Reading {
  readonly #versions: readonly Reader[];
  readonly #writer: Writer | undefined;

  constructor(versions: readonly Reader[], writer?: Writer) {
    this.#versions = versions;
    this.#writer = writer;
  }

  read(object: unknown): Read {
    const [first, ...others] = this.#versions as readonly [Reader, ...Reader[]];
    const written = first.read(object);
    let { value } = written;
    const pruned = new Set<string>();
    for (const [index, version] of others.entries()) {
      const isLast = index === others.length - 1;
      const read = isLast ? version.prune(value) : version.read(value);
      // A write that is refused changes nothing: the object is read as it was.
      if (index + 1 === this.#writer?.at && !this.#accepts(value, read.value))
        return { value: (others.at(-1) ?? first).prune(value).value, pruned: written.pruned };
      value = read.value;
      for (const path of read.pruned) pruned.add(path);
    }
    // A default of one version that another prunes, or the other way round, is no loss.
    const gone = differences(written.value, value).map(({ path }) => path);
    return { value, pruned: [...written.pruned, ...gone.filter((path) => isWithin(path, pruned))] };
  }

  /** What an object that its own version accepts loses on the way, and why it is refused there. */
  meets(object: unknown): ReadonlySet<string> {
    const [own] = this.#versions as readonly [Reader, ...Reader[]];
    const written = own.read(object);
    if (written.pruned.length > 0 || own.faults(written.value).length > 0) return new Set();
    const { value, pruned } = this.read(object);
    return new Set([...pruned, ...this.faults(value).map(nameOf)]);
  }

  #accepts(read: unknown, written: unknown): boolean {
    const { apiVersion, version, creates } = this.#writer as Writer;
    const old = version.prune({ ...(read as Json), apiVersion }).value;
    return creates || version.faults({ ...(written as Json), apiVersion }, old).length === 0;
  }

  faults(read: unknown, old?: unknown): readonly Fault[] {
    if (this.#writer?.creates !== true) return [];
    const { apiVersion, version } = this.#writer;
    const written = (object: unknown): unknown => version.read({ ...(object as Json), apiVersion }).value;
    return old === undefined ? version.faults(written(read)) : version.faults(written(read), written(old));
  }
}

/** What an object meets on a way, and did not meet on the same way before the change. */
export class Since implements Reading {
  readonly #now: Passage;
  readonly #was: Passage;
  readonly #met = new WeakMap<object, ReadonlySet<string>>();

  constructor(now: Passage, was: Passage) {
    this.#now = now;
    this.#was = was;
  }

  read(object: unknown): Read {
    const { value, pruned } = this.#now.read(object);
    const met = this.#was.meets(object);
    this.#met.set(value as object, met);
    return { value, pruned: pruned.filter((path) => !met.has(path)) };
  }

  faults(read: unknown, old?: unknown): readonly Fault[] {
    const met = this.#met.get(read as object);
    return this.#now.faults(read, old).filter((fault) => met?.has(nameOf(fault)) !== true);
  }
}

const nameOf = ({ path, keyword, rule = '' }: Fault): string => `${path} ${keyword} ${rule}`;

/** Whether a value that was pruned is at the path or around it: its default can stand there instead. */
const isWithin = (path: string, pruned: ReadonlySet<string>): boolean =>
  pruned.has(path) || [...pruned].some((each) => path.startsWith(`${each}.`) || path.startsWith(`${each}[`));

interface Difference {
  readonly path: string;
  readonly before: unknown;
  /** Undefined if the value is gone. */
  readonly after: unknown;
}

/**
 * The values that read differently. A value that exists only afterwards does not count, because the object did not set
 * it.
 */
export const differences = (before: unknown, after: unknown): Difference[] => differencesAt(before, after, []);

function differencesAt(before: unknown, after: unknown, steps: readonly Step[]): Difference[] {
  if (before === after || same(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.flatMap((item, index) => differencesAt(item, after[index], [...steps, index]));
  }
  if (isObject(before) && isObject(after)) {
    return Object.keys(before).flatMap((key) => differencesAt(before[key], after[key], [...steps, key]));
  }
  return [{ path: pathText(steps), before, after }];
}

/** `touched` makes the smallest update: it sets another annotation. */
export function touched(object: unknown): unknown {
  const whole = object as Json;
  const metadata = (whole.metadata ?? {}) as Json;
  const annotations = (metadata.annotations ?? {}) as Json;
  return { ...whole, metadata: { ...metadata, annotations: { ...annotations, 'platform.company.com/touched': '' } } };
}
