/**
 * An esbuild plugin for our own modules: an import from an `index.ts` or `internal.ts` becomes an import from the file that declares
 * the name. esbuild puts a file into every chunk that reaches it, even if nothing of it is used: through the indexes, `kidp --version`
 * would load everything.
 */
import { readFile } from 'node:fs/promises';
import { dirname, relative, resolve } from 'node:path';
import { type Plugin, transform } from 'esbuild';

interface Source {
  readonly code: string;
  /** What the file exports from other files: the file and the name there by exported name. */
  readonly forwarded: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
  /** Files of which everything is exported. */
  readonly all: readonly string[];
  /** Names that the file itself declares. */
  readonly own: ReadonlySet<string>;
}

/** `replacements` gives files, by their path below `root`, another content for the package. */
export function directImports(root: string, replacements: ReadonlyMap<string, () => Promise<string>>): Plugin {
  const sources = new Map<string, Promise<Source>>();
  const sourceOf = (file: string): Promise<Source> => {
    const known = sources.get(file) ?? read(file, replacements.get(relative(root, file)));
    sources.set(file, known);
    return known;
  };

  /** Where a name that `file` exports is declared. */
  async function origin(file: string, name: string): Promise<{ file: string; name: string } | undefined> {
    const source = await sourceOf(file);
    const forwarded = source.forwarded.get(name);
    if (forwarded !== undefined) return origin(forwarded.file, forwarded.name);
    if (source.own.has(name)) return { file, name };
    for (const other of source.all) {
      const found = await origin(other, name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async function direct(file: string): Promise<string> {
    const { code } = await sourceOf(file);
    let written = '';
    let end = 0;
    for (const match of code.matchAll(/^import \{([^}]*)\} from "(\.[^"]*)";$/gm)) {
      const [statement, names = '', from = ''] = match;
      const lines = await Promise.all(
        pairsOf(names).map(async ([name, local]) => {
          const found = await origin(resolve(dirname(file), from), name);
          if (found === undefined) throw new Error(`${file}: ${from} does not export ${name}`);
          return `import { ${found.name} as ${local} } from ${JSON.stringify(found.file)};`;
        }),
      );
      written += code.slice(end, match.index) + lines.join('\n');
      end = match.index + statement.length;
    }
    return written + code.slice(end);
  }

  return {
    name: 'direct-imports',
    setup(build) {
      build.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) =>
        path.startsWith(`${root}/src/`)
          ? { contents: await direct(path), loader: 'js', resolveDir: dirname(path) }
          : null,
      );
    },
  };
}

async function read(file: string, replacement: (() => Promise<string>) | undefined): Promise<Source> {
  const { code } = await transform(await (replacement?.() ?? readFile(file, 'utf8')), {
    loader: 'ts',
    target: 'node22.19',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  });
  const at = (from: string): string => resolve(dirname(file), from);
  const forwarded = new Map<string, { file: string; name: string }>();
  for (const [, names = '', from = ''] of code.matchAll(/^export \{([^}]*)\} from "(\.[^"]*)";$/gm)) {
    for (const [name, local] of pairsOf(names)) forwarded.set(local, { file: at(from), name });
  }
  // esbuild collects what a file declares and exports in one statement at its end.
  const own = [...code.matchAll(/^export \{([^}]*)\};$/gm)].flatMap(([, names = '']) => pairsOf(names));
  const spaces = [...code.matchAll(/^export \* as (\w+) from /gm)].map(([, name = '']) => name);
  return {
    code,
    forwarded,
    all: [...code.matchAll(/^export \* from "(\.[^"]*)";$/gm)].map(([, from = '']) => at(from)),
    own: new Set([...own.map(([, local]) => local), ...spaces, ...declaredNames(code)]),
  };
}

/** Names of `export function …` and the like. */
const declaredNames = (code: string): string[] =>
  [...code.matchAll(/^export (?:async )?(?:function\*?|const|let|var|class) ([\w$]+)/gm)].map(([, name = '']) => name);

/** `a, b as c` as pairs of the name in the other file and the local name. */
function pairsOf(names: string): [name: string, local: string][] {
  return names
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [name = '', local = name] = each.split(' as ');
      return [name, local];
    });
}
