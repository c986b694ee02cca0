/** Every kept input, and every input that once broke a rule, through its target: what `npm run fuzz` has found stays fixed. */
import { describe, expect, test } from 'vitest';
import { readCorpus, readCrashes, targetFile, targetNames } from './engine/corpus.ts';
import { type Target, tryInput } from './engine/target.ts';

describe.each(targetNames)('%s', async (name) => {
  const { target } = (await import(targetFile(name))) as { target: Target };

  test('the kept corpus breaks no rule', async () => {
    const inputs = [...target.seeds().map((each) => Buffer.from(each)), ...readCorpus(name)];
    expect(inputs.length).toBeGreaterThan(5);
    for (const input of inputs) await tried(target, input);
  });

  const crashes = readCrashes(name);
  test.runIf(crashes.length > 0).each(crashes)('$file is fixed', ({ input }) => tried(target, input));
});

async function tried(target: Target, input: Buffer): Promise<void> {
  try {
    await tryInput(target, input);
  } catch (cause) {
    throw new Error(`${JSON.stringify(input.toString('latin1').slice(0, 500))} breaks a rule`, { cause });
  }
}
