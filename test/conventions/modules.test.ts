/** The modules of src: which one may import which, and only through its entry files. */
import { expect, test } from 'vitest';
import { importsOf, read, sourceFiles } from './source.ts';

const foundation = ['api', 'cel', 'runtime'];
const domain = ['policy', 'crd-compat', 'broker', 'fleet', ...foundation];
const application = ['admission', 'reconcile', 'rest', ...domain];

/** The modules that each module may import. */
const allowed: Record<string, readonly string[]> = {
  cel: [],
  runtime: [],
  api: ['runtime'],
  controlplane: ['runtime'],
  policy: foundation,
  'crd-compat': foundation,
  broker: foundation,
  fleet: ['crd-compat', ...foundation],
  admission: domain,
  reconcile: domain,
  rest: domain,
  platform: application,
  cli: ['platform', 'controlplane', ...application],
};

const files = sourceFiles('src');
const moduleOf = (file: string): string => file.split('/')[1] ?? '';
const isTest = (file: string): boolean => /\.test\.ts$|\/support\//.test(file);

/** Imports that cross from one module to another, or that leave src. Tests may use what test/ offers. */
const crossing = files
  .flatMap(importsOf)
  .filter(({ from, to }) => (to.startsWith('src/') ? moduleOf(from) !== moduleOf(to) : !isTest(from)))
  .map(({ from, to }) => ({ from, to }));

test('every folder of src is a known module', () => {
  expect([...new Set(files.map(moduleOf))].filter((name) => !(name in allowed))).toEqual([]);
});

test('arrows point one way', () => {
  expect(crossing.filter(({ from, to }) => allowed[moduleOf(from)]?.includes(moduleOf(to)) !== true)).toEqual([]);
});

test('a module is entered by index.ts, by internal.ts within this project, or by testing/index.ts in tests', () => {
  const isEntry = (from: string, to: string) =>
    /^src\/[^/]+\/(index|internal)\.ts$/.test(to) || (isTest(from) && to === 'src/runtime/testing/index.ts');
  expect(crossing.filter(({ from, to }) => !isEntry(from, to))).toEqual([]);
});

test('YAML is parsed only by src/runtime/yaml, which bounds its depth, aliases and time', () => {
  const parses = /^import [^;]*\b(?:parse|parseDocument|parseAllDocuments|Parser|Composer)\b[^;]* from 'yaml';/m;
  const others = files.filter(
    (file) => !isTest(file) && !file.startsWith('src/runtime/yaml/') && parses.test(read(file)),
  );
  expect(others).toEqual([]);
});

test('every module opens with a comment that says what it is', () => {
  const entry = (name: string) =>
    files.find((file) => /\/(index|main)\.ts$/.test(file) && file.split('/').length === 3 && moduleOf(file) === name);
  const silent = Object.keys(allowed).filter((name) => !/^(#!.*\n)?\/\*\*/.test(read(entry(name) ?? '')));
  expect(silent).toEqual([]);
});
