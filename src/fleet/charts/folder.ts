/** Reads a chart from the configured charts directory: a directory or an archive. Nothing outside of it is read. */
import { lstat, readdir, readFile, realpath } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { FleetError } from '../contract.ts';
import { pack } from './archive.ts';

const mostBytes = 32 * 1024 * 1024;
const mostFiles = 5_000;

/** `readFromFolder` returns the archive; a directory is packed, so that the same content has the same digest. */
export async function readFromFolder(folder: string | undefined, path: string): Promise<Buffer> {
  if (folder === undefined) {
    throw new FleetError(
      'chart/missing',
      'spec.chart.path requires a charts directory: start the platform with --charts',
    );
  }
  const root = await realpath(folder).catch((cause: unknown) => {
    throw new FleetError('chart/unreachable', 'The charts directory of the platform cannot be read', { cause });
  });
  const place = await realpath(join(root, path)).catch((cause: unknown) => {
    throw new FleetError('chart/missing', `${path} does not exist in the charts directory of the platform`, { cause });
  });
  const within = relative(root, place);
  if (within === '' || within === '..' || within.startsWith(`..${sep}`)) {
    throw new FleetError('chart/missing', `${path} is outside of the charts directory of the platform`);
  }
  const stat = await lstat(place);
  if (stat.isDirectory()) return packDirectory(place, path);
  if (stat.size > mostBytes) throw new FleetError('chart/invalid', `${path} is larger than ${mostBytes} bytes`);
  return readFile(place);
}

async function packDirectory(directory: string, path: string): Promise<Buffer> {
  const files = new Map<string, Buffer>();
  let size = 0;
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const file = join(entry.parentPath, entry.name);
    const name = relative(directory, file).split(sep).join('/');
    // Links could point anywhere, and hidden files are not part of the chart.
    if (!entry.isFile() || name.split('/').some((part) => part.startsWith('.') && part !== '.helmignore')) continue;
    const data = await readFile(file);
    size += data.length;
    files.set(name, data);
    if (size > mostBytes || files.size > mostFiles) {
      throw new FleetError('chart/invalid', `${path} exceeds ${mostBytes} bytes or ${mostFiles} files`);
    }
  }
  if (!files.has('Chart.yaml')) throw new FleetError('chart/invalid', `${path} has no Chart.yaml`);
  return pack('chart', files);
}
