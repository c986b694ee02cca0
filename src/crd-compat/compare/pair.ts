/** Both schemas of a comparison, for the search for witnesses. */
import { type Crd, type CrdVersion, schemaOf } from '../crd.ts';
import type { Pair } from './witness.ts';

/** `pairOf` returns the pair of two versions; undefined if one of them has no schema. */
export function pairOf(before: Crd, after: Crd, old: CrdVersion, now: CrdVersion): Pair | undefined {
  const one = schemaOf(old);
  const other = schemaOf(now);
  if (one === undefined || other === undefined) return undefined;
  const { group, names, scope } = before.spec;
  const namespaced = scope === 'Namespaced';
  const path = `/apis/${group}/${now.name}/${namespaced ? 'namespaces/default/' : ''}${names.plural}`;
  return {
    before: one,
    after: other,
    prunedBefore: before.spec.preserveUnknownFields !== true,
    prunedAfter: after.spec.preserveUnknownFields !== true,
    apiVersion: `${group}/${old.name}`,
    kind: names.kind,
    namespaced,
    path,
    status: now.subresources?.status != null,
  };
}
