/** Reads for which machine a program is, and which libraries it needs, from its ELF headers (64 bits, little-endian). */
import { readFileSync } from 'node:fs';

interface Program {
  readonly machine: string;
  readonly libraries: readonly string[];
}

const machines: Readonly<Record<number, string>> = { 62: 'amd64', 183: 'arm64' };
const dynamicSection = 6;
const needed = 1n;

export function readElf(file: string): Program {
  const bytes = readFileSync(file);
  const number = (at: number) => Number(bytes.readBigUInt64LE(at));
  const [table, size, count] = [number(40), bytes.readUInt16LE(58), bytes.readUInt16LE(60)];
  const sections = Array.from({ length: count }, (_, index) => {
    const at = table + index * size;
    return {
      type: bytes.readUInt32LE(at + 4),
      offset: number(at + 24),
      length: number(at + 32),
      link: bytes.readUInt32LE(at + 40),
    };
  });
  const dynamic = sections.find(({ type }) => type === dynamicSection);
  const strings = sections[dynamic?.link ?? -1];
  const libraries: string[] = [];
  for (
    let at = dynamic?.offset ?? 0;
    strings !== undefined && dynamic !== undefined && at < dynamic.offset + dynamic.length;
    at += 16
  ) {
    if (bytes.readBigUInt64LE(at) !== needed) continue;
    const start = strings.offset + number(at + 8);
    libraries.push(bytes.toString('latin1', start, bytes.indexOf(0, start)));
  }
  return { machine: machines[bytes.readUInt16LE(18)] ?? 'another', libraries };
}
