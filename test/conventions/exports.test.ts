/** Every export is used by another file, and no modules import each other in a circle. */
import { expect, test } from 'vitest';
import { declaredExports, type Import, importsOf, read, sourceFiles } from './source.ts';

const files = sourceFiles('src', 'test', 'bench', 'scripts', 'bin', 'examples');
const imports = files.flatMap(importsOf);

test('every export is used by another file', () => {
  const used = usedExports();
  const unused = files
    .filter((file) => file.startsWith('src/'))
    .flatMap((file) => declaredExports(file).map((name) => `${file}: ${name}`))
    .filter((each) => !used.has(each));
  expect(unused).toEqual([]);
});

test('no files import each other in a circle at run time', () => {
  expect(cycles(imports.filter(({ isTypeOnly }) => !isTypeOnly))).toEqual([]);
});

test('no files of src/admission import each other in a circle, types included', () => {
  expect(cycles(imports.filter(({ from }) => from.startsWith('src/admission/')))).toEqual([]);
});

/** Follows each import through the files that re-export the name, to the file that declares it. */
function usedExports(): Set<string> {
  const used = new Set<string>();
  const reexports = Map.groupBy(
    imports.filter(({ isReexport }) => isReexport),
    ({ from }) => from,
  );
  const mark = (file: string, name: string): void => {
    const key = `${file}: ${name}`;
    if (used.has(key)) return;
    used.add(key);
    if (name === '*') for (const each of declaredExports(file)) mark(file, each);
    for (const { to, names } of reexports.get(file) ?? []) {
      if (names.includes('*')) mark(to, name);
      else if (name === '*') for (const each of names) mark(to, each);
      else if (names.includes(name)) mark(to, name);
    }
  };
  for (const { to, names, isReexport } of imports) if (!isReexport) for (const name of names) mark(to, name);
  for (const entry of publicEntries()) mark(entry, '*');
  return used;
}

/** The source files behind the entry points of the package. */
function publicEntries(): string[] {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, string | { default: string }> };
  return Object.values(exports)
    .map((entry) => (typeof entry === 'string' ? entry : entry.default))
    .filter((path) => path.endsWith('.js'))
    .map((path) => path.replace('./dist/', 'src/').replace(/\.js$/, '.ts'));
}

/** The strongly connected components with more than one file (Tarjan's algorithm). */
function cycles(edges: readonly Import[]): string[][] {
  const targets = Map.groupBy(edges, ({ from }) => from);
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.get(file) ?? 0);
    stack.push(file);
    for (const { to } of targets.get(file) ?? []) {
      if (!index.has(to)) {
        visit(to);
        low.set(file, Math.min(low.get(file) ?? 0, low.get(to) ?? 0));
      } else if (stack.includes(to)) low.set(file, Math.min(low.get(file) ?? 0, index.get(to) ?? 0));
    }
    if (low.get(file) !== index.get(file)) return;
    const component = stack.splice(stack.indexOf(file));
    if (component.length > 1) found.push(component.sort());
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return found;
}
