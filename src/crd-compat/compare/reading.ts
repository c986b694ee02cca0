/** What the API server makes of an object by one version of a definition: pruned, with defaults, accepted or refused. */

import { same } from '../canonical.ts';
import { applyDefaults, type Fault, prune, type Validator, validator } from '../instance/index.ts';
import { isObject } from '../json.ts';
import type { CrdSchema } from '../schema.ts';
import type { Json } from '../verdict.ts';

interface Read {
  readonly value: unknown;
  /** Paths of what was dropped. */
  readonly pruned: readonly string[];
}

/** One schema of one version; its validator is made when it is first asked. */
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

  /** What an update that changes next to nothing meets: rules with oldSelf do not spare what stays. */
  faultsOfUpdate(read: unknown): readonly Fault[] {
    this.#looksBack ??= JSON.stringify(this.#schema).includes('oldSelf');
    return this.#looksBack ? this.faults(touched(read), read) : [];
  }
}

interface Difference {
  readonly path: string;
  readonly before: unknown;
  /** undefined where it is gone. */
  readonly after: unknown;
}

/** Values that read differently. What is only there afterwards is not among them: the object said nothing about it. */
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

/** The smallest update there is: another annotation. */
export function touched(object: unknown): unknown {
  const whole = object as Json;
  const metadata = (whole.metadata ?? {}) as Json;
  const annotations = (metadata.annotations ?? {}) as Json;
  return { ...whole, metadata: { ...metadata, annotations: { ...annotations, 'platform.company.com/touched': '' } } };
}
