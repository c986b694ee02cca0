/**
 * What the API server of Kubernetes 1.36 says to an object, on a create and on an update: the schema, embedded resources, lists that are
 * sets or maps, and CEL rules, in that order. The object is taken as it is after pruning and defaulting.
 */
import type { CrdSchema } from '../schema.ts';
import { Correlation } from './correlation.ts';
import type { Fault } from './fault.ts';
import { isObject } from './json.ts';
import { checkListTypes } from './list-types.ts';
import { checkEmbedded, checkMetadata } from './metadata.ts';
import { type Rules, rulesOf } from './rules.ts';
import { Run } from './run.ts';
import { structureCheck } from './structure.ts';

export interface ValidatorOptions {
  /** Whether values are whole resources, with apiVersion, kind and metadata. True unless said otherwise. */
  readonly resource?: boolean;
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
  let rules: { readonly found: Rules | undefined } | undefined;
  return {
    validate(value, old) {
      const run = new Run();
      const correlation = old === undefined ? undefined : new Correlation(value, old, schema);
      if (resource && isObject(value) && Object.hasOwn(value, 'metadata'))
        checkMetadata(value.metadata, run, 'subdomain');
      check(value, run, correlation);
      checkEmbedded(value, schema, run);
      checkListTypes(schema, value, old, run);
      rules ??= { found: rulesOf(schema, resource) };
      const blocked = run.faults.some(({ keyword }) => BLOCKS_RULES.has(keyword));
      if (!blocked) rules.found?.check(value, old, run, correlation);
      return run.faults;
    },
  };
}
