/** Questions about the schema of one object: which fields it implies, and which other fields it keeps. */
import type { CrdSchema } from '../schema.ts';

/** A schema that keeps every field and checks nothing. */
export const ANYTHING: CrdSchema = { 'x-kubernetes-preserve-unknown-fields': true };

/** The fields that every resource has, whether its schema names them or not. */
export const implied: Readonly<Record<string, CrdSchema>> = {
  apiVersion: { type: 'string' },
  kind: { type: 'string' },
  metadata: { type: 'object' },
};

/** Whether an object keeps fields that its schema does not name. */
export const isOpen = (schema: CrdSchema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

/** The schema of the values of a map; undefined if the schema does not describe a map. */
export function mapValues(schema: CrdSchema): CrdSchema | undefined {
  const values = schema.additionalProperties;
  if (values === undefined || values === false) return undefined;
  return values === true ? ANYTHING : values;
}
