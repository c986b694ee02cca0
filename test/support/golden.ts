/** Folders with input and the expected output of a command. `vitest -u` rewrites the expectations: read the diff. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

interface Run {
  name: string;
  flags: string[];
  exit: number;
}

type Command = (
  flags: readonly string[],
  options: { directory: string },
) => Promise<{ code: number; out: string; err: string }>;

/**
 * Defines one test for every run of every folder: its output is in `expected/`, its flags and exit code in `runs.yaml`.
 */
export function testGolden(golden: string, command: Command): void {
  describe.each(readdirSync(golden))('%s', (folder) => {
    const directory = join(golden, folder);
    const { reason, runs }: { reason: string; runs: Run[] } = parse(readFileSync(join(directory, 'runs.yaml'), 'utf8'));
    test.each(runs)(`${reason}: $name`, async ({ name, flags, exit }) => {
      const { code, out, err } = await command(flags, { directory: join(directory, 'input') });
      await expect(`${out}${err}`).toMatchFileSnapshot(join(directory, 'expected', `${name}.txt`));
      expect(code).toBe(exit);
    });
  });
}
