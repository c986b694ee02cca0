/** The documentation names only what exists: links, files, npm scripts. */
import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { read, trackedFiles } from './source.ts';
import { root } from './tools.ts';

const pages = trackedFiles().filter((file) => file.endsWith('.md') && !/^(test|src)\//.test(file));
const exists = (path: string): boolean => existsSync(join(root, path));

test('every link between pages leads to a file and a heading', () => {
  const broken = pages.flatMap((page) =>
    [...withoutCode(read(page)).matchAll(/\]\((?!https?:|mailto:)([^)\s]*)\)/g)].flatMap(([, link = '']) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), path));
      if (!exists(target)) return [`${page}: ${link}`];
      if (anchor === undefined || !target.endsWith('.md') || anchors(target).has(anchor)) return [];
      return [`${page}: ${link} (no such heading)`];
    }),
  );
  expect(broken).toEqual([]);
});

test('every file of the repository that a page names exists', () => {
  const folders = /^(src|test|docs|scripts|bench|manifests|charts|policies|examples|bin|\.ci|\.github)\//;
  const missing = pages.flatMap((page) =>
    [...read(page).matchAll(/`([\w.@/-]+)`/g)].flatMap(([, path = '']) =>
      folders.test(path) && !exists(path) ? [`${page}: ${path}`] : [],
    ),
  );
  expect(missing).toEqual([]);
});

test('every npm script that a page names exists', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const missing = pages.flatMap((page) =>
    [...read(page).matchAll(/npm run ([\w:-]+)/g)].flatMap(([, name = '']) =>
      name in scripts ? [] : [`${page}: npm run ${name}`],
    ),
  );
  expect(missing).toEqual([]);
});

test('every page of docs is reachable from docs/README.md', () => {
  const seen = new Set<string>();
  const visit = (page: string): void => {
    if (seen.has(page) || !exists(page)) return;
    seen.add(page);
    for (const [, path = ''] of withoutCode(read(page)).matchAll(/\]\((?!https?:)([^)#\s]+\.md)/g))
      visit(normalize(join(dirname(page), path)));
  };
  visit('docs/README.md');
  expect(pages.filter((page) => page.startsWith('docs/') && !seen.has(page))).toEqual([]);
});

const withoutCode = (text: string): string => text.replace(/```[\s\S]*?```/g, '').replace(/^ {4}.*$/gm, '');

/** The anchors of a page's headings, as the hosting services make them. */
function anchors(page: string): Set<string> {
  const headings = [...withoutCode(read(page)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[`*]/g, '')
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
