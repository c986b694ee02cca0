/** The import graph of the repository, read from the text of its TypeScript files. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './tools.ts';

export interface Import {
  /** The file that imports, relative to the root of the repository. */
  readonly from: string;
  /** The file that is imported. */
  readonly to: string;
  /** The imported names. `*` stands for all of them: a namespace or a dynamic import. */
  readonly names: readonly string[];
  /** Whether the statement also re-exports the names. */
  readonly isReexport: boolean;
  /** Whether only types are imported, so that nothing is loaded at run time. */
  readonly isTypeOnly: boolean;
}

/** `trackedFiles` lists the files that git tracks or would track. */
export function trackedFiles(): string[] {
  return execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter((file) => file !== '' && existsSync(join(root, file)));
}

export const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** `sourceFiles` lists the TypeScript and JavaScript files of the given top-level folders. */
export function sourceFiles(...folders: readonly string[]): string[] {
  return trackedFiles().filter((file) => /\.(ts|mts|js|mjs)$/.test(file) && folders.includes(file.split('/')[0] ?? ''));
}

const statement =
  /^(import|export)\s+(type\s+)?(?:(\*(?:\s+as\s+\w+)?)|(?:\w+\s*,\s*)?\{([^}]*)\}|\w+)\s+from\s+'(\.[^']+)'/gm;

/** `importsOf` lists the relative imports of a file, static and dynamic. */
export function importsOf(file: string): Import[] {
  const text = read(file);
  const target = (path: string) => posix.normalize(posix.join(posix.dirname(file), path));
  const fixed = [...text.matchAll(statement)].map(([, verb, typeOnly, star, list, path = '']): Import => {
    const entries = (list ?? '').split(',').flatMap((entry) => (entry.trim() === '' ? [] : [entry.trim()]));
    return {
      from: file,
      to: target(path),
      names:
        star !== undefined ? ['*'] : entries.map((entry) => entry.replace(/^type\s+/, '').replace(/\s+as\s+.*$/, '')),
      isReexport: verb === 'export',
      isTypeOnly: typeOnly !== undefined || (entries.length > 0 && entries.every((entry) => entry.startsWith('type '))),
    };
  });
  const dynamic = [...text.matchAll(/\bimport\(\s*'(\.[^']+)'\s*\)(\.\w+)?/g)].map(([, path = '', member]): Import => {
    return {
      from: file,
      to: target(path),
      names: [member?.slice(1) ?? '*'],
      isReexport: false,
      isTypeOnly: member !== undefined,
    };
  });
  return [...fixed, ...dynamic];
}

/** `declaredExports` lists the names that a file declares and exports itself, without its re-exports. */
export function declaredExports(file: string): string[] {
  const declaration =
    /^export\s+(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?(?:function\*?|const|let|class|interface|type|enum)\s+(\w+)/gm;
  return [...read(file).matchAll(declaration)].map(([, name = '']) => name);
}
