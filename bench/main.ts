/**
 * `npm run bench -- NAME …`: runs the benchmarks that are named, one after the other. Each is a folder here with a `main.ts`
 * that exports `run(flags)`, which prints ours, theirs, the ratio and the target, and resolves to whether every target was met.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

interface Bench {
  run(flags: readonly string[]): Promise<boolean>;
}

const known = readdirSync(import.meta.dirname, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(import.meta.dirname, entry.name, 'main.ts')))
  .map(({ name }) => name)
  .sort();
const words = process.argv.slice(2);
const names = words.filter((word) => !word.startsWith('-'));
const unknown = names.filter((name) => !known.includes(name));
if (names.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) process.stderr.write(`kidp: no benchmark is called ${unknown.join(', ')}\n`);
  process.stderr.write(`Run one with "npm run bench -- NAME": there is ${known.join(', ')}\n`);
  process.exit(2);
}

let met = true;
for (const name of names) {
  const bench: Bench = await import(join(import.meta.dirname, name, 'main.ts'));
  met = (await bench.run(words.filter((word) => word.startsWith('-')))) && met;
}
process.exit(met ? 0 : 1);
