/** One text for one value, whatever the order of its keys: what equality and digests of schemas are taken from. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null)
    return typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null');
  const entries: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    if (member !== undefined) entries.push(`${JSON.stringify(key)}:${canonical(member)}`);
  }
  return `{${entries.join(',')}}`;
}

/** Without making texts, so that a comparison which mostly finds equal things is quick. */
export function same(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) !== Array.isArray(right)) return false;
  const one = left as Readonly<Record<string, unknown>>;
  const other = right as Readonly<Record<string, unknown>>;
  const keys = Object.keys(one).filter((key) => one[key] !== undefined);
  const size = Object.keys(other).reduce((count, key) => (other[key] === undefined ? count : count + 1), 0);
  return keys.length === size && keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]));
}
