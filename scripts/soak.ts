/**
 * `npm run soak [-- NAME …] [--minutes N] [--rounds N]` runs the long fault-injection programs of test/soak one after another. Each exports
 * `run({ minutes, rounds, log })` and throws if a guarantee of the product was violated.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

interface Soak {
  run(options: { minutes: number; rounds: number; log: (line: string) => void }): Promise<void>;
}

const folder = join(import.meta.dirname, '..', 'test', 'soak');
const known = readdirSync(folder)
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string', default: '10' }, rounds: { type: 'string', default: '100' } },
});
const unknown = positionals.filter((name) => !known.includes(name));
const numbers = { minutes: Number(values.minutes), rounds: Number(values.rounds) };
if (unknown.length > 0 || !(numbers.minutes > 0) || !(numbers.rounds > 0)) {
  process.stderr.write(
    unknown.length > 0
      ? `kidp: unknown soak run ${unknown.join(', ')}, want one of ${known.join(', ')}\n`
      : 'kidp: --minutes and --rounds must be numbers greater than 0\n',
  );
  process.exit(2);
}

let failed = 0;
for (const name of positionals.length > 0 ? positionals : known) {
  const started = Date.now();
  const log = (line: string) => process.stdout.write(`${name}: ${line}\n`);
  try {
    const soak: Soak = await import(join(folder, `${name}.ts`));
    await soak.run({ ...numbers, log });
    log(`passed, ${Math.round((Date.now() - started) / 1000)} s`);
  } catch (error) {
    failed += 1;
    log(
      `FAILED after ${Math.round((Date.now() - started) / 1000)} s: ${error instanceof Error ? error.stack : String(error)}`,
    );
  }
}
process.exit(failed === 0 ? 0 : 1);
