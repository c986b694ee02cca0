/** The module graph in docs/architecture.md: which folder of src imports which, read from the code. */
import { importsOf, read, sourceFiles } from '../../test/conventions/source.ts';
import { openingSentence } from './comments.ts';

/** Returns the page with the block between the two markers replaced by the graph of today. */
export function architecturePage(page: string): string {
  return page.replace(
    /(<!-- generated: modules -->\n)[\s\S]*?(<!-- end of generated -->)/,
    (_, begin: string, end: string) => `${begin}${moduleGraph()}${end}`,
  );
}

function moduleGraph(): string {
  const imports = moduleImports();
  const direct = withoutIndirect(imports);
  const lines = [...direct].flatMap(([from, targets]) => [...targets].map((to) => `    ${from} --> ${to}`));
  const rows = [...imports].map(
    ([name, targets]) => `| \`src/${name}\` | ${purposeOf(name)} | ${[...targets].sort().join(', ') || 'nothing'} |`,
  );
  return [
    '```mermaid',
    'flowchart TD',
    ...lines,
    '```',
    '',
    'An arrow means "imports". Arrows that follow from others are left out of the picture; the table has them all.',
    '',
    '| module | what it is | imports |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** The modules that each module imports, without tests and test helpers. */
export function moduleImports(): Map<string, Set<string>> {
  const files = sourceFiles('src').filter((file) => !/\.test\.ts$|\/support\//.test(file));
  const moduleOf = (file: string) => file.split('/')[1] ?? '';
  const found = new Map([...new Set(files.map(moduleOf))].sort().map((name) => [name, new Set<string>()]));
  for (const { from, to } of files.flatMap(importsOf))
    if (to.startsWith('src/') && moduleOf(from) !== moduleOf(to)) found.get(moduleOf(from))?.add(moduleOf(to));
  return found;
}

/** Leaves out an arrow where another path leads to the same module. */
function withoutIndirect(graph: Map<string, Set<string>>): Map<string, Set<string>> {
  const reaches = (from: string, to: string): boolean =>
    [...(graph.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  return new Map(
    [...graph].map(([from, targets]) => {
      const isDirect = (to: string) => ![...targets].some((via) => via !== to && reaches(via, to));
      return [from, new Set([...targets].filter(isDirect).sort())];
    }),
  );
}

/** The first sentence of the comment that opens the module. */
function purposeOf(name: string): string {
  const entry = sourceFiles('src').includes(`src/${name}/index.ts`) ? 'index.ts' : 'main.ts';
  return openingSentence(read(`src/${name}/${entry}`));
}
