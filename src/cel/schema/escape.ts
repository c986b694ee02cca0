/** Escapes property names as identifiers like Kubernetes: `foo-bar` is `foo__dash__bar`. */

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
};

/** `escapeProperty` returns the identifier of a property; undefined if it has none (spaces, a leading digit …). */
export function escapeProperty(name: string): string | undefined {
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  if (RESERVED.has(name)) return `__${name}__`;
  return name.replace(/__|[-./]/g, (each) => ESCAPES[each] as string);
}

export const isReserved = (name: string): boolean => RESERVED.has(name);
