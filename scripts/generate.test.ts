import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const parts = [
  'package.json',
  'scripts/generate.ts',
  'scripts/manifests.ts',
  'charts',
  'src',
  'policies',
  'crds',
  'manifests',
  'docs/reference',
];
const crd = 'crds/teams.yaml';
let copy: string;
beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), 'kidp-generate-'));
  for (const part of parts) cpSync(join(root, part), join(copy, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
});
afterEach(() => rmSync(copy, { recursive: true }));

function generate(...flags: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(copy, 'scripts/generate.ts'), ...flags], {
    encoding: 'utf8',
  });
  return { status, output: stdout + stderr };
}

test('a check passes where nothing has drifted', () => {
  expect(generate('--check')).toEqual({ status: 0, output: '' });
});

test('a check names what has drifted and what is left over, changes neither, and fails', () => {
  writeFileSync(join(copy, crd), 'edited by hand\n');
  const leftOver = 'crds/gone.yaml';
  writeFileSync(join(copy, leftOver), readFileSync(join(root, crd)));
  const { status, output } = generate('--check');
  expect(status).toBe(1);
  expect(output).toContain(`out of date: ${crd}`);
  expect(output).toContain(`left over:   ${leftOver}`);
  expect(readFileSync(join(copy, crd), 'utf8')).toBe('edited by hand\n');
});

test('generating heals both, and leaves pages alone that were never generated', () => {
  writeFileSync(join(copy, crd), 'edited by hand\n');
  writeFileSync(join(copy, 'crds/gone.yaml'), readFileSync(join(root, crd)));
  writeFileSync(join(copy, 'docs/reference/cli.md'), '# Written by a person\n');
  expect(generate()).toMatchObject({ status: 0 });
  expect(generate('--check')).toEqual({ status: 0, output: '' });
  expect(readFileSync(join(copy, crd), 'utf8')).toBe(readFileSync(join(root, crd), 'utf8'));
  expect(readFileSync(join(copy, 'docs/reference/cli.md'), 'utf8')).toBe('# Written by a person\n');
});
