/**
 * What the API server of Kubernetes 1.36 says to an object, on a create and on an update: the schema, embedded resources, lists that are
 * sets or maps, and CEL rules, in that order. The object is taken as it is after pruning and defaulting.
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
  /** Whether values are whole resources, with apiVersion, kind and metadata. True unless said otherwise. */
  readonly resource?: boolean;
  /** How many values will be looked at; `few` unless said otherwise. */
  readonly runs?: Runs;
}

export interface Validator {
  /** `old` makes it an update: what it leaves unchanged is excused as the API server excuses it, and rules may compare with it. */
  validate(value: unknown, old?: unknown): readonly Fault[];
}

/** These keep the API server from running rules: the object is not of the shape that rules may rely on. */
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
      // Most updates have nothing to excuse: only where there is a fault is it asked what was there before.
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
