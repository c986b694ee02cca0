import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { GENERATED_MARK, generatedFiles, generatedFolders } from './generated.ts';
import { crdFor, kinds } from './index.ts';

const root = join(import.meta.dirname, '..', '..');
const files = generatedFiles();

describe('the generated files are up to date (else run `npm run generate`)', () => {
  test.each([...files])('%s', (path, content) => {
    expect(readFileSync(join(root, path), 'utf8')).toBe(content);
  });

  test('no generated file of a removed kind remains', () => {
    const generated = generatedFolders
      .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
      .filter((path) => readFileSync(join(root, path), 'utf8').includes(GENERATED_MARK));
    expect(generated.filter((path) => !files.has(path))).toEqual([]);
  });
});

test('the YAML of a CRD parses back to the CRD', () => {
  for (const kind of kinds) {
    const yaml = files.get(`crds/${kind.plural}.yaml`) ?? '';
    expect(parse(yaml)).toEqual(crdFor(kind));
  }
});

test('a reference page lists every field of its kind', () => {
  const page = files.get('docs/reference/topic.md') ?? '';
  expect(page).toContain('| `spec.partitions` | integer, 1 to 10000 | `1` |');
  expect(page).toContain('| `spec.partitions` | on update | the number of partitions can only be increased');
  expect(page).toContain('| `spec.dependencies.databaseSelector` | label selector');
});

test('kinds that share a name with a core kind show their full name', () => {
  expect(files.get('docs/reference/service.md')).toContain('kubectl get services.platform.company.com');
  expect(files.get('docs/reference/secret.md')).toContain('kubectl get secrets.platform.company.com');
});
