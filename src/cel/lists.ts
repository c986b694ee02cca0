/**
 * Lists that a schema declares as sets or as maps by key: equality ignores the order of their elements, and `+` merges
 * them. The mark is a property of the array that expressions cannot see.
 */
import { mapGet } from './map.ts';
import { isMap, type Value } from './values.ts';

type ListKind = { readonly kind: 'set' } | { readonly kind: 'map'; readonly keys: readonly string[] };

const KIND = Symbol('list kind');

type Marked = Value[] & { [KIND]?: ListKind };

export function markList(values: Value[], kind: ListKind): readonly Value[] {
  Object.defineProperty(values, KIND, { value: kind });
  return values;
}

export const listKind = (values: readonly Value[]): ListKind | undefined => (values as Marked)[KIND];

type Equal = (left: Value, right: Value) => boolean;

/** `equalMarked` reports whether two lists have the same elements; `kind` is that of the left one. */
export function equalMarked(left: readonly Value[], right: readonly Value[], kind: ListKind, equal: Equal): boolean {
  if (left.length !== right.length) return false;
  return right.every((each) => left.some((own) => sameEntry(own, each, kind, equal) && equal(own, each)));
}

/**
 * `mergeMarked` computes left + right: elements keep their positions, right elements replace those with the
 * same key, and new ones are appended.
 */
export function mergeMarked(
  left: readonly Value[],
  right: readonly Value[],
  kind: ListKind,
  equal: Equal,
): readonly Value[] {
  const merged = [...left];
  for (const each of right) {
    const index = merged.findIndex((own) => sameEntry(own, each, kind, equal));
    if (index < 0) merged.push(each);
    else if (kind.kind === 'map') merged[index] = each;
  }
  return markList(merged, kind);
}

function sameEntry(left: Value, right: Value, kind: ListKind, equal: Equal): boolean {
  if (kind.kind === 'set') return equal(left, right);
  if (!isMap(left) || !isMap(right)) return false;
  return kind.keys.every((key) => {
    const [own, other] = [mapGet(left, key), mapGet(right, key)];
    return own === undefined || other === undefined ? own === other : equal(own, other);
  });
}
