import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unpack } from './archive.ts';
import { readFromFolder } from './folder.ts';

let root: string;
let folder: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'kidp-charts-'));
  folder = join(root, 'charts');
  for (const each of ['charts/shop/templates', 'charts/shop/.git', 'charts/empty', 'outside']) {
    mkdirSync(join(root, each), { recursive: true });
  }
  writeFileSync(join(folder, 'shop/Chart.yaml'), 'name: shop\n');
  writeFileSync(join(folder, 'shop/templates/a.yaml'), 'a: 1\n');
  writeFileSync(join(folder, 'shop/.git/config'), 'secret\n');
  writeFileSync(join(root, 'outside/Chart.yaml'), 'name: outside\n');
  symlinkSync(join(root, 'outside'), join(folder, 'leads-out'));
  symlinkSync(join(root, 'outside/Chart.yaml'), join(folder, 'shop/link.yaml'));
  symlinkSync(join(folder, 'shop'), join(folder, 'alias'));
});
afterAll(() => rmSync(root, { recursive: true }));

test('a directory is packed reproducibly, without hidden files and links', async () => {
  const bytes = await readFromFolder(folder, 'shop');
  expect([...(await unpack(bytes)).keys()]).toEqual(['chart/Chart.yaml', 'chart/templates/a.yaml']);
  expect(await readFromFolder(folder, 'alias')).toEqual(bytes);
});

test.each([
  { reason: 'it does not exist', path: 'nothing', code: 'chart/missing' },
  { reason: 'a link points outside', path: 'leads-out', code: 'chart/missing' },
  { reason: 'the path points outside', path: '../outside', code: 'chart/missing' },
  { reason: 'it is the folder itself', path: '.', code: 'chart/missing' },
  { reason: 'it is not a chart', path: 'empty', code: 'chart/invalid' },
])('$reason: $code', async ({ path, code }) => {
  await expect(readFromFolder(folder, path)).rejects.toMatchObject({ code });
});

test('without a charts directory no path can be read', async () => {
  await expect(readFromFolder(undefined, 'shop')).rejects.toMatchObject({
    code: 'chart/missing',
    message: expect.stringContaining('--charts'),
  });
});
