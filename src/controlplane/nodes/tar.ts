/** Tar files (ustar) with neither times nor owners, so that equal entries give equal bytes. */

export interface TarEntry {
  /** Relative, without a leading slash, at most 255 characters. */
  readonly path: string;
  readonly content?: string | Uint8Array;
  /** The default is 0644 for files and 0755 for directories. */
  readonly mode?: number;
  readonly directory?: boolean;
  /** The target of a symbolic link. */
  readonly link?: string;
}

const block = 512;

export const tar = (entries: readonly TarEntry[]): Uint8Array => Buffer.concat([...tarParts(entries)]);

/** The parts of a tar file, which may be too long for one buffer. */
export function* tarParts(entries: Iterable<TarEntry>): Generator<Uint8Array> {
  for (const entry of entries) {
    const content =
      typeof entry.content === 'string' ? Buffer.from(entry.content) : (entry.content ?? new Uint8Array());
    yield header(entry, content.length);
    yield content;
    yield new Uint8Array((block - (content.length % block)) % block);
  }
  yield new Uint8Array(2 * block);
}

function header(entry: TarEntry, size: number): Uint8Array {
  const bytes = Buffer.alloc(block);
  const { name, prefix } = split(entry.directory === true ? `${entry.path}/` : entry.path);
  const type = entry.directory === true ? '5' : entry.link === undefined ? '0' : '2';
  const mode = entry.mode ?? (entry.directory === true ? 0o755 : 0o644);
  bytes.write(name, 0);
  bytes.write(octal(mode, 7), 100);
  bytes.write(octal(0, 7), 108);
  bytes.write(octal(0, 7), 116);
  bytes.write(octal(size, 11), 124);
  bytes.write(octal(0, 11), 136);
  bytes.write('        ', 148);
  bytes.write(type, 156);
  bytes.write(entry.link ?? '', 157);
  bytes.write('ustar\0', 257);
  bytes.write('00', 263);
  bytes.write(prefix, 345);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return bytes;
}

/** Names of more than 100 characters are cut at a slash into a prefix and a name. */
function split(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let at = path.lastIndexOf('/', path.length - 2); at > 0; at = path.lastIndexOf('/', at - 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(prefix) <= 155 && Buffer.byteLength(name) <= 100) return { name, prefix };
  }
  throw new RangeError(`the path ${path} is too long for a tar file`);
}

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
