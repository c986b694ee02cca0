/**
 * The kept inputs. `corpus/NAME.jsonl` has one input on each line, as a JSON string of Latin-1 characters so that every byte can be written;
 * `crashes/NAME/` has one file for each input that once broke a rule.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '..');

/** The limit for the corpus of one target: all together stay below 2 MB. */
const mostBytes = 160_000;

export const targetNames: readonly string[] = readdirSync(join(folder, 'targets'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();

export const targetFile = (name: string): string => join(folder, 'targets', `${name}.ts`);

const corpusFile = (name: string): string => join(folder, 'corpus', `${name}.jsonl`);
const crashFolder = (name: string): string => join(folder, 'crashes', name);

export function readCorpus(name: string): Buffer[] {
  if (!existsSync(corpusFile(name))) return [];
  const lines = readFileSync(corpusFile(name), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => Buffer.from(JSON.parse(line) as string, 'latin1'));
}

/** Writes the first inputs that fit into the limit. */
export function writeCorpus(name: string, inputs: readonly Uint8Array[]): void {
  const lines: string[] = [];
  let size = 0;
  for (const input of inputs) {
    const line = JSON.stringify(Buffer.from(input).toString('latin1'));
    size += line.length + 1;
    if (size > mostBytes) break;
    lines.push(line);
  }
  mkdirSync(join(folder, 'corpus'), { recursive: true });
  writeFileSync(corpusFile(name), `${lines.sort().join('\n')}\n`);
}

export function readCrashes(name: string): { readonly file: string; readonly input: Buffer }[] {
  if (!existsSync(crashFolder(name))) return [];
  return readdirSync(crashFolder(name)).map((file) => ({ file, input: readFileSync(join(crashFolder(name), file)) }));
}

/** Returns the file, relative to the folder of the fuzzer. */
export function writeCrash(name: string, file: string, input: Uint8Array): string {
  mkdirSync(crashFolder(name), { recursive: true });
  writeFileSync(join(crashFolder(name), file), input);
  return join('crashes', name, file);
}
