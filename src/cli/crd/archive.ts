/** Reads the text files of a packaged Helm chart (`.tgz`) in memory: nothing is unpacked to disk, and the size is limited. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

interface ArchivedFile {
  /** The path in the archive: its first segment is the name of the chart. */
  readonly path: string;
  readonly text: string;
}

const MOST_BYTES = 256 * 2 ** 20;
const BLOCK = 512;

/** `filesInArchive` returns the wanted files. It throws if this is not an archive, or if it unpacks to more than the limit. */
export function filesInArchive(archive: string | Buffer, wanted: (path: string) => boolean): ArchivedFile[] {
  const packed = typeof archive === 'string' ? readFileSync(archive) : archive;
  const bytes = gunzipSync(packed, { maxOutputLength: MOST_BYTES });
  const files: ArchivedFile[] = [];
  for (const { path, content } of entries(bytes)) {
    if (wanted(path)) files.push({ path, text: content.toString('utf8') });
  }
  return files.sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** `archivesInArchive` returns the packaged subcharts inside a packaged chart. */
export function archivesInArchive(archive: string | Buffer): { path: string; content: Buffer }[] {
  const packed = typeof archive === 'string' ? readFileSync(archive) : archive;
  const bytes = gunzipSync(packed, { maxOutputLength: MOST_BYTES });
  return [...entries(bytes)].filter(({ path }) => /(?:^|\/)charts\/[^/]+\.tgz$/.test(path));
}

/** `entries` reads a tar archive: a one-block header precedes each file; a name too long for it is in an entry before it. */
function* entries(bytes: Buffer): Generator<{ path: string; content: Buffer }> {
  let longName: string | undefined;
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    const header = bytes.subarray(at, at + BLOCK);
    const name = textAt(header, 0, 100);
    if (name === '' && header.every((byte) => byte === 0)) return;
    const size = Number.parseInt(textAt(header, 124, 12), 8);
    if (!Number.isInteger(size) || size < 0) throw new Error('not a tar archive');
    const content = bytes.subarray(at + BLOCK, at + BLOCK + size);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = textAt(header, 156, 1);
    if (type === 'L') longName = content.toString('utf8').replace(/\0.*$/s, '');
    else if (type === 'x') longName = /(?:^|\n)\d+ path=([^\n]*)/.exec(content.toString('utf8'))?.[1] ?? longName;
    else {
      const prefix = textAt(header, 345, 155);
      const path = longName ?? (prefix === '' ? name : `${prefix}/${name}`);
      longName = undefined;
      if (type === '' || type === '0') yield { path: path.replace(/^\.\//, ''), content };
    }
  }
}

function textAt(header: Buffer, start: number, length: number): string {
  const end = header.indexOf(0, start);
  return header.toString('utf8', start, end < 0 || end > start + length ? start + length : end).trim();
}
