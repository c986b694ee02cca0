/** The second half of `npm run generate`: the pages of docs/ that are read from the source. With `--check` it only compares. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../../test/conventions/tools.ts';
import { apiPages } from './api.ts';
import { architecturePage } from './architecture.ts';
import { errorsPage } from './errors.ts';
import { conditionsPage } from './reasons.ts';

const ARCHITECTURE = 'docs/architecture.md';

/** Returns the pages by path. */
export function generatedPages(): Map<string, string> {
  return new Map([
    [ARCHITECTURE, architecturePage(current(ARCHITECTURE))],
    ['docs/reference/errors.md', errorsPage()],
    ['docs/reference/conditions.md', conditionsPage()],
    ...apiPages(),
  ]);
}

/** Returns the pages that differ from what is in the repository. */
export const outdatedPages = (): string[] =>
  [...generatedPages()].filter(([path, text]) => current(path) !== text).map(([path]) => path);

function current(path: string): string {
  try {
    return readFileSync(join(root, path), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}

if (process.argv[1] === import.meta.filename) {
  if (process.argv.includes('--check')) {
    const outdated = outdatedPages();
    for (const path of outdated) console.error(`out of date: ${path}`);
    if (outdated.length > 0) process.exitCode = 1;
  } else {
    for (const [path, text] of generatedPages()) {
      if (current(path) === text) continue;
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
      console.log(`written: ${path}`);
    }
  }
}
