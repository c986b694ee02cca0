/**
 * Validates an object like the API server of Kubernetes 1.36, on a create and on an update: the schema, embedded
 * resources, list types and CEL rules, in that order. The object must be pruned and defaulted already.
 */
import type { CrdSchema } from '../schema.ts';
import { Correlation } from './correlation.ts';
import type { Fault } from './fault.ts';
import { isObject } from './json.ts';
import { listTypeCheck } from './list-types.ts';
import { checkMetadata, embeddedCheck } from './resources.ts';
import type { Runs } from './rule-program.ts';
import { rulesOf } from './rules.ts';
import { Run } from './run.ts';
import { structureCheck } from './structure.ts';

interface ValidatorOptions {
  /** Whether values are whole resources, with apiVersion, kind and metadata. The default is true. */
  readonly resource?: boolean;
  /** How many values will be validated; the default is `few`. */
  readonly runs?: Runs;
}

export interface Validator {
  /**
   * With `old` it is an update: faults in unchanged values are excused like in the API server, and rules can read
   * oldSelf.
   */
  validate(value: unknown, old?: unknown): readonly Fault[];
}

/**
 * A fault of these keywords keeps the API server from running rules, because the object does not have the shape that
 * rules rely on.
 */
const BLOCKS_RULES: ReadonlySet<string> = new Set([
  'enum',
  'required',
  'maxLength',
  'maxItems',
  'maxProperties',
  'type',
]);

export function validator(schema: CrdSchema, options: ValidatorOptions = {}): Validator {
  const resource = options.resource !== false;
  const check = structureCheck(schema);
  const others = lazy(() => ({
    embedded: embeddedCheck(schema),
    listTypes: listTypeCheck(schema),
    rules: rulesOf(schema, resource, options.runs ?? 'few'),
  }));
  return {
    validate(value, old) {
      const run = new Run();
      if (resource && isObject(value) && Object.hasOwn(value, 'metadata'))
        checkMetadata(value.metadata, run, 'subdomain');
      const before = run.faults.length;
      const correlation = lazy(() => (old === undefined ? undefined : new Correlation(value, old, schema)));
      check(value, run, undefined);
      // Most updates have no fault to excuse: the old value is compared only if there is one.
      if (old !== undefined && run.forget(before)) check(value, run, correlation());
      const { embedded, listTypes, rules } = others();
      embedded?.(value, run);
      listTypes?.(value, old, run);
      if (rules !== undefined && !run.faults.some(({ keyword }) => BLOCKS_RULES.has(keyword))) {
        rules.check(value, old, run, correlation);
      }
      return run.faults;
    },
  };
}

function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
