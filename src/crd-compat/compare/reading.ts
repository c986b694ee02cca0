/**
 * Reads an object the way the API server does in one version of a definition: pruned, defaulted, and accepted or
 * refused.
 */

import { same } from '../canonical.ts';
import { applyDefaults, type Fault, prune, type Validator, validator } from '../instance/index.ts';
import { isObject } from '../json.ts';
import type { CrdSchema } from '../schema.ts';
import type { Json } from '../verdict.ts';

interface Read {
  readonly value: unknown;
  /** The paths of the pruned fields. */
  readonly pruned: readonly string[];
}

/** The schema of one version. Its validator is built on first use. */
export class Reader {
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
    const { value, pruned } = this.#prunes ? prune(object, this.#schema) : { value: object, pruned: [] };
    return { value: applyDefaults(value, this.#schema), pruned };
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
export function differences(before: unknown, after: unknown, path = ''): Difference[] {
  if (before === after || same(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    return before.flatMap((item, index) => differences(item, after[index], `${path}[${index}]`));
  }
  if (isObject(before) && isObject(after)) {
    return Object.keys(before).flatMap((key) => differences(before[key], after[key], `${path}.${key}`));
  }
  return [{ path, before, after }];
}

/** `touched` makes the smallest update: it sets another annotation. */
export function touched(object: unknown): unknown {
  const whole = object as Json;
  const metadata = (whole.metadata ?? {}) as Json;
  const annotations = (metadata.annotations ?? {}) as Json;
  return { ...whole, metadata: { ...metadata, annotations: { ...annotations, 'platform.company.com/touched': '' } } };
}
