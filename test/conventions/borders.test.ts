/** The rooms of the house: who may import whom, and only through the front door (`index.ts`). */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { expect, test } from 'vitest';

const source = join(import.meta.dirname, '..', '..', 'src');

const mayImport: Record<string, readonly string[]> = {
  cel: [],
  runtime: [],
  api: ['runtime'],
  controlplane: ['runtime'],
  policy: ['api', 'cel', 'runtime'],
  'crd-compat': ['api', 'cel', 'runtime'],
  broker: ['api', 'cel', 'runtime'],
  fleet: ['crd-compat', 'api', 'cel', 'runtime'],
  admission: ['policy', 'crd-compat', 'broker', 'fleet', 'api', 'cel', 'runtime'],
  reconcile: ['policy', 'crd-compat', 'broker', 'fleet', 'api', 'cel', 'runtime'],
  rest: ['policy', 'crd-compat', 'broker', 'fleet', 'api', 'cel', 'runtime'],
  platform: ['admission', 'reconcile', 'rest', 'policy', 'crd-compat', 'broker', 'fleet', 'api', 'cel', 'runtime'],
  cli: [
    'platform',
    'admission',
    'reconcile',
    'rest',
    'controlplane',
    'policy',
    'crd-compat',
    'broker',
    'fleet',
    'api',
    'cel',
    'runtime',
  ],
};

interface Import {
  file: string;
  room: string;
  target: string;
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .map((file) => file.split(sep).join('/'))
  .filter((file) => file.endsWith('.ts'));

test('every folder of src is a known room', () => {
  expect(files.map((file) => file.split('/')[0]).filter((room) => room === undefined || !(room in mayImport))).toEqual(
    [],
  );
});

test('arrows point one way', () => {
  const wrong = importsBetweenRooms().filter(({ room, target }) => {
    const targetRoom = target.split('/')[0] ?? '';
    return !mayImport[room]?.includes(targetRoom);
  });
  expect(wrong).toEqual([]);
});

/** Entries besides `index.ts`: `internal.ts` has the parts of a module that the package does not export, `testing` the helpers for tests. */
const otherEntries = [
  'cel/internal.ts',
  'crd-compat/internal.ts',
  'policy/internal.ts',
  'runtime/internal.ts',
  'runtime/testing/index.ts',
];

test('a module is entered by its index.ts', () => {
  const entry = /^[^/]+\/index\.ts$/;
  expect(importsBetweenRooms().filter(({ target }) => !entry.test(target) && !otherEntries.includes(target))).toEqual(
    [],
  );
});

test('only tests import the helpers for tests', () => {
  const isTest = (file: string) => /\.test\.ts$|\/support\//.test(file);
  const wrong = importsBetweenRooms().filter(
    ({ file, target }) => target.startsWith('runtime/testing/') && !isTest(file),
  );
  expect(wrong).toEqual([]);
});

test('every room opens with a comment that says what it is', () => {
  const rooms = new Set(files.map((file) => file.split('/')[0]));
  const silent = [...rooms].filter((room) => {
    const index = files.includes(`${room}/index.ts`) ? `${room}/index.ts` : `${room}/main.ts`;
    return (
      !readFileSync(join(source, index), 'utf8').startsWith('/**') &&
      !readFileSync(join(source, index), 'utf8').startsWith('#!')
    );
  });
  expect(silent).toEqual([]);
});

/** Imports that cross from one room to another, found by text: `from '…'` and `import('…')` with a relative path. */
function importsBetweenRooms(): Import[] {
  return files.flatMap((file) => {
    const room = file.split('/')[0] ?? '';
    const text = readFileSync(join(source, file), 'utf8');
    return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g)].flatMap((match) => {
      const target = posix.normalize(posix.join(posix.dirname(file), match[1] ?? ''));
      // Tests beside their file may use what test/ offers.
      if (target.startsWith('../'))
        return file.endsWith('.test.ts') ? [] : [{ file, room, target: relative('.', target) }];
      return target.split('/')[0] === room ? [] : [{ file, room, target }];
    });
  });
}
