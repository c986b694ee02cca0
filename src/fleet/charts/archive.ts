/** Packaged charts (gzipped tar files): read with size limits, and written reproducibly. */

import { promisify } from 'node:util';
import { gunzip, gzip, gzipSync } from 'node:zlib';
import { FleetError } from '../contract.ts';

/** A third of the limit of Helm: a chart whose release fits into a Secret (1 MiB, compressed) has much less. */
export const mostUnpacked = 32 * 1024 * 1024;
const mostFiles = 20_000;
/** Files that are parsed here: parsing takes a multiple of their size in memory. */
const isParsed = /(?:^|\/)(?:Chart\.yaml$|values\.schema\.json$|crds\/)/;
const mostParsed = 5 * 1024 * 1024;
const block = 512;

export type ChartFiles = ReadonlyMap<string, Buffer>;

const unzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);
const zip = promisify<Buffer, { level: number }, Buffer>(gzip);

/**
 * `unpack` returns the files by their path in the archive, such as `chart/templates/a.yaml`. Rejects with
 * `chart/invalid`.
 */
export async function unpack(bytes: Buffer, mostBytes = mostUnpacked): Promise<ChartFiles> {
  let content: Buffer;
  try {
    content = await unzip(bytes, { maxOutputLength: Math.max(1, mostBytes) });
  } catch (cause) {
    const isLarge = (cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw invalid(isLarge ? 'it is larger than 32 MiB unpacked' : 'it is not a complete gzip file', cause);
  }
  return entriesOf(content);
}

function entriesOf(content: Buffer): ChartFiles {
  const files = new Map<string, Buffer>();
  let at = 0;
  let longName: string | undefined;
  while (at + block <= content.length) {
    const header = content.subarray(at, at + block);
    if (header[0] === 0) break;
    const size = sizeOf(header);
    const data = content.subarray(at + block, at + block + size);
    if (data.length < size) throw invalid('the archive is truncated');
    at += block + Math.ceil(size / block) * block;
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === 'x') longName = paxPath(data) ?? longName;
    else if (type === 'L') longName = text(data);
    else if (type !== 'g') {
      const name = longName ?? nameIn(header);
      longName = undefined;
      if (type === '0' || type === '\0') files.set(checked(name, size), data);
      if (files.size > mostFiles) throw invalid(`it has more than ${mostFiles} files`);
    }
  }
  if (files.size === 0) throw invalid('the archive has no files');
  return files;
}

function sizeOf(header: Buffer): number {
  const size = Number.parseInt(text(header.subarray(124, 136)).trim() || '0', 8);
  if (!Number.isSafeInteger(size) || size < 0) throw invalid('the archive is damaged');
  return size;
}

const text = (bytes: Buffer): string => {
  const end = bytes.indexOf(0);
  return bytes.subarray(0, end < 0 ? bytes.length : end).toString('utf8');
};

function nameIn(header: Buffer): string {
  const prefix = text(header.subarray(257, 262)) === 'ustar' ? text(header.subarray(345, 500)) : '';
  const name = text(header.subarray(0, 100));
  return prefix === '' ? name : `${prefix}/${name}`;
}

/** PAX records have the form `LENGTH KEY=VALUE\n`. */
const paxPath = (data: Buffer): string | undefined => /(?:^|\n)\d+ path=([^\n]*)\n/.exec(data.toString('utf8'))?.[1];

function checked(name: string, size: number): string {
  // Helm reads a backslash as a slash too.
  const slashed = name.replaceAll('\\', '/');
  const parts = slashed.split('/').filter((part) => part !== '' && part !== '.');
  if (slashed.startsWith('/') || parts.includes('..')) throw invalid('it contains a path outside of the archive');
  const path = parts.join('/');
  if (size > mostParsed && isParsed.test(path)) throw invalid(`${path} is larger than 5 MiB`);
  return path;
}

/**
 * `pack` archives files by their paths within a folder. Times and owners are omitted, so that the digest depends on the
 * content only.
 */
export const pack = (folder: string, files: ReadonlyMap<string, Buffer>): Buffer =>
  gzipSync(tarOf([...files].map(([path, data]) => [`${folder}/${path}`, data])));

/** `repack` archives what `unpack` returned, quickly. */
export const repack = (files: ChartFiles): Promise<Buffer> => zip(tarOf([...files]), { level: 1 });

function tarOf(files: readonly (readonly [name: string, data: Buffer])[]): Buffer {
  const blocks: Buffer[] = [];
  for (const [name, data] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (Buffer.byteLength(name) > 100) {
      const record = paxRecord(name);
      blocks.push(headerOf('pax', 'x', record.length), padded(record));
    }
    blocks.push(headerOf(Buffer.from(name).subarray(0, 100).toString('latin1'), '0', data.length), padded(data));
  }
  blocks.push(Buffer.alloc(2 * block));
  return Buffer.concat(blocks);
}

function headerOf(name: string, type: '0' | 'x', size: number): Buffer {
  const header = Buffer.alloc(block);
  header.write(name, 0, 100, 'latin1');
  header.write('0000644\0', 100);
  for (const at of [108, 116]) header.write('0000000\0', at);
  header.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(type, 156);
  header.write('ustar\u000000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

const padded = (data: Buffer): Buffer => Buffer.concat([data, Buffer.alloc((block - (data.length % block)) % block)]);

function paxRecord(name: string): Buffer {
  const rest = ` path=${name}\n`;
  let length = Buffer.byteLength(rest);
  while (Buffer.byteLength(`${length}${rest}`) !== length) length = Buffer.byteLength(`${length}${rest}`);
  return Buffer.from(`${length}${rest}`);
}

const invalid = (why: string, cause?: unknown): FleetError =>
  new FleetError('chart/invalid', `The chart cannot be read: ${why}`, cause === undefined ? {} : { cause });
