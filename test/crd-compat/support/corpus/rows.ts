/** Builders for similar rows: a constraint that is added, and removed. */
import type { CrdSchema } from '../../../../src/crd-compat/index.ts';
import type { Expectation, SchemaExpectation, SchemaRow } from './shape.ts';

/** An object with a note, so that something in it can be edited that the change has nothing to do with. */
export const objectWith = (properties: Readonly<Record<string, CrdSchema>>, more: CrdSchema = {}): CrdSchema => ({
  type: 'object',
  properties: { note: { type: 'string' }, ...properties },
  ...more,
});

export const noted = (value: object): object => ({ note: 'as it was', ...value });

interface Tightened {
  readonly name: string;
  readonly kind: Expectation['kind'];
  /** The kind of the reverse change, if it differs. */
  readonly kindBack?: Expectation['kind'];
  readonly loose: CrdSchema;
  readonly tight: CrdSchema;
  /** Values that are valid before and invalid after the change. */
  readonly lost: readonly unknown[];
  /** Values that are valid before and after the change. */
  readonly kept: readonly unknown[];
  /** Whether an update of something else in the subject meets the new bound: what is bounded is an object, which then changes. */
  readonly stored?: SchemaExpectation['stored'];
  /** Reverted, it is known to be harmless unless this says otherwise. */
  readonly back?: Pick<Expectation, 'stored' | 'manifests' | 'reason'>;
  readonly at?: string;
  readonly reason: string;
}

const ratcheted = 'an update that leaves the value alone is let through (validation ratchets)';
const widened = 'everything that was accepted still is, and means the same';

/** A schema that accepts less: breaking for manifests. Reverted, it accepts more, which is safe. */
export function tightened(row: Tightened): SchemaRow {
  const at = row.at === undefined ? {} : { at: row.at };
  return {
    name: row.name,
    before: row.loose,
    after: row.tight,
    forth: {
      kind: row.kind,
      stored: row.stored ?? 'safe',
      manifests: 'breaking',
      reason: row.stored === undefined ? `${row.reason}; ${ratcheted}` : row.reason,
      values: [...row.lost, ...row.kept],
      ...at,
    },
    back: {
      kind: row.kindBack ?? row.kind,
      stored: 'safe',
      manifests: 'safe',
      reason: widened,
      values: row.kept,
      ...row.back,
      ...at,
    },
  };
}

/** A schema that accepts the same values in another notation: safe in both directions. */
export const rewritten = (
  name: string,
  kind: Expectation['kind'],
  schemas: readonly [CrdSchema, CrdSchema],
  values: readonly unknown[],
  reason: string,
  at = '',
): SchemaRow => {
  const same: SchemaExpectation = { kind, stored: 'safe', manifests: 'safe', reason, values, at };
  return { name, before: schemas[0], after: schemas[1], forth: same, back: same };
};
