/** Finds removed fields that were probably renamed: an added field has the same shape, and the most similar name. */

import { nearest } from '../../cel/internal.ts';
import { canonical } from '../canonical.ts';
import type { CrdSchema } from '../schema.ts';

type Fields = Readonly<Record<string, CrdSchema>>;

export function renames(
  gone: readonly string[],
  added: readonly string[],
  old: Fields,
  now: Fields,
): { from: string; to: string }[] {
  if (gone.length === 0 || added.length === 0) return [];
  const byShape = new Map<string, string[]>();
  for (const name of [...added].sort()) {
    const shape = shapeOf(now[name]);
    byShape.set(shape, [...(byShape.get(shape) ?? []), name]);
  }
  const found: { from: string; to: string }[] = [];
  for (const from of [...gone].sort()) {
    const candidates = byShape.get(shapeOf(old[from])) ?? [];
    const to = candidates.length > 1 ? (nearest(from, candidates) ?? candidates[0]) : candidates[0];
    if (to === undefined) continue;
    found.push({ from, to });
    candidates.splice(candidates.indexOf(to), 1);
  }
  return found;
}

/** The canonical text of a schema without descriptions and other documentation. */
const shapeOf = (schema: CrdSchema | undefined): string => canonical(bare(schema));

function bare(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(bare);
  const { description: _, title: _title, ...rest } = schema as CrdSchema & Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = { ...rest };
  if (rest.properties !== undefined) {
    copy.properties = Object.fromEntries(Object.entries(rest.properties).map(([name, field]) => [name, bare(field)]));
  }
  for (const name of ['items', 'additionalProperties', 'allOf', 'anyOf', 'oneOf', 'not'])
    if (copy[name] !== undefined) copy[name] = bare(copy[name]);
  return copy;
}
