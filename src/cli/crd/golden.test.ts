/** Folders of definitions, and what `kidp crd` says of them. `vitest -u` writes the expectations anew: read them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runCrd } from '../../../test/support/crd-command.ts';

interface Run {
  name: string;
  flags: string[];
  exit: number;
}

const golden = join(import.meta.dirname, 'golden');

describe.each(readdirSync(golden))('%s', (folder) => {
  const directory = join(golden, folder);
  const { reason, runs }: { reason: string; runs: Run[] } = parse(readFileSync(join(directory, 'runs.yaml'), 'utf8'));
  test.each(runs)(`${reason}: $name`, async ({ name, flags, exit }) => {
    const { code, out, err } = await runCrd(flags, { directory: join(directory, 'input') });
    await expect(`${out}${err}`).toMatchFileSnapshot(join(directory, 'expected', `${name}.txt`));
    expect(code).toBe(exit);
  });
});
