/**
 * Reads the versions of one chart out of a repository index as it arrives. The index of a large repository has tens of megabytes, and
 * parsing YAML takes a hundred times the memory of its text, so only one version is held and parsed at a time.
 */
import { parseYaml } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

interface EntryReader<Kept> {
  /** Throws a `FleetError`. */
  write(chunk: Buffer): void;
  /** Whether the entry of the chart has ended, so that the rest of the index is not needed. */
  isDone(): boolean;
  /** Returns the chart's entries, mapped; undefined if the index does not have the chart. Throws a `FleetError`. */
  end(): readonly Kept[] | undefined;
}

/** An index that is not written as `helm repo index` does is parsed as a whole, up to these sizes. */
const mostYaml = 512 * 1024;
const mostJson = 4 * 1024 * 1024;
const mostOfChart = 4 * 1024 * 1024;
const mostOfVersion = 128 * 1024;
const mostVersions = 20_000;
/** Of a line that is not kept, this much is looked at. */
const mostOfLine = 1024;

const space = 0x20;

type Place = 'before' | 'entries' | 'chart' | 'after';

interface EntryOptions<Kept> {
  readonly chart: string;
  /** The repository, for messages. */
  readonly repository: string;
  /** Maps an entry to what is kept of it, so that the rest of it does not stay in memory. */
  readonly keep: (entry: unknown) => readonly Kept[];
}

export function entryReader<Kept>({ chart, repository, keep }: EntryOptions<Kept>): EntryReader<Kept> {
  const kept: Kept[] = [];
  let place: Place = 'before';
  let indent: string | undefined;
  /** The beginning of the index, until it is too large to be parsed as a whole. */
  let whole: Buffer[] | undefined = [];
  let wholeBytes = 0;
  let line: Buffer[] = [];
  let lineBytes = 0;
  let version: Buffer[] = [];
  let versionBytes = 0;
  let versionIndent: string | undefined;
  let chartBytes = 0;
  let versions = 0;
  let isFound = false;

  const tooLarge = (what: string) => new FleetError('chart/invalid', `The index of ${repository} ${what}`);
  const noIndex = (cause?: unknown) =>
    new FleetError('chart/unreachable', `${repository} has no valid Helm repository index`, { cause });
  const parsed = (text: string): unknown => {
    try {
      return parseYaml(text, { strict: false });
    } catch (cause) {
      throw noIndex(cause);
    }
  };

  function endVersion(): void {
    if (version.length === 0) return;
    const text = Buffer.concat(version).toString('utf8');
    version = [];
    versionBytes = 0;
    const entry = parsed(text);
    if (!Array.isArray(entry)) throw noIndex();
    versions += entry.length;
    if (versions > mostVersions) throw tooLarge(`has more than ${mostVersions} versions of ${chart}`);
    for (const each of entry) kept.push(...keep(each));
  }

  /** Decides by the beginning of a line which part of the index it belongs to. */
  function takeLine(start: string): void {
    if (place === 'before') {
      if (/^entries:[ \t]*\r?$/.test(start)) place = 'entries';
      return;
    }
    if (place === 'after' || /^\s*(?:#|$)/.test(start)) return;
    if (indent === undefined) {
      indent = /^ +(?=\S)/.exec(start)?.[0];
      if (indent === undefined) place = 'after';
    }
    if (place === 'after') return;
    if (/^[^\s\-#]/.test(start)) place = leave('after');
    else if (start.startsWith(indent ?? '') && /^[^\s\-#]/.test(start.slice(indent?.length))) {
      if (isKeyOf(start.slice(indent?.length), chart) && place === 'entries') place = 'chart';
      else place = leave('entries');
      isFound ||= place === 'chart';
    }
  }

  function leave(next: Place): Place {
    if (place !== 'chart') return next;
    endVersion();
    return 'after';
  }

  function keepLine(bytes: Buffer, start: string): void {
    const [, spaces] = /^(\s*)-(?:\s|$)/.exec(start) ?? [];
    versionIndent ??= spaces;
    if (spaces !== undefined && spaces === versionIndent) endVersion();
    if (versionIndent === undefined) {
      if (/^\s*(?:#|$)/.test(start)) return;
      throw noIndex();
    }
    versionBytes += bytes.length;
    if (versionBytes > mostOfVersion) throw tooLarge(`has a version of ${chart} that is too large`);
    version.push(bytes);
  }

  function endLine(): void {
    if (lineBytes === 0) return;
    const bytes = Buffer.concat(line);
    line = [];
    lineBytes = 0;
    const start = bytes.subarray(0, mostOfLine).toString('utf8').replace(/\n$/, '');
    const before = place;
    takeLine(start);
    // The first line of the chart is its key.
    if (place === 'chart' && before === 'chart') keepLine(bytes, start);
  }

  function keepWhole(chunk: Buffer): void {
    if (whole === undefined) return;
    whole.push(chunk);
    wholeBytes += chunk.length;
    if (wholeBytes > mostJson || isFound) whole = undefined;
  }

  /** Adds a part of a line. Of long lines outside the chart only the beginning is kept. */
  function add(part: Buffer): void {
    if (place === 'chart') {
      chartBytes += part.length;
      if (chartBytes > mostOfChart) throw tooLarge(`has an entry for ${chart} that is too large`);
      line.push(part);
    } else if (lineBytes < mostOfLine) line.push(part.subarray(0, mostOfLine - lineBytes));
    lineBytes += part.length;
  }

  /** The entries of the chart in an index that is parsed as a whole. */
  function entriesIn(bytes: Buffer): readonly unknown[] | undefined {
    const text = bytes.toString('utf8');
    const asJson = /^\s*\{/.test(text) ? json(text) : undefined;
    if (asJson === undefined && bytes.length > mostYaml) throw tooLarge(`has no entry for ${chart} and is too large`);
    const index = asJson ?? parsed(text);
    if (index === null || typeof index !== 'object' || !('entries' in index)) throw noIndex();
    const { entries } = index as { readonly entries: Readonly<Record<string, unknown>> | null };
    const found =
      entries !== null && typeof entries === 'object' && Object.hasOwn(entries, chart) ? entries[chart] : [];
    return Array.isArray(found) && found.length > 0 ? found.slice(0, mostVersions) : undefined;
  }

  const isDeeper = (chunk: Buffer, at: number): boolean =>
    indent !== undefined && chunk[at] === space && chunk[at + indent.length] === space;

  return {
    write(chunk) {
      keepWhole(chunk);
      for (let at = 0; at < chunk.length; ) {
        const newline = chunk.indexOf(10, at);
        const next = newline < 0 ? chunk.length : newline + 1;
        // Nearly all lines: inside the entry of another chart.
        const isSkipped = place === 'entries' && lineBytes === 0 && newline >= 0 && isDeeper(chunk, at);
        if (!isSkipped) add(chunk.subarray(at, next));
        if (newline >= 0) endLine();
        at = next;
      }
    },
    isDone: () => isFound && place === 'after',
    end() {
      endLine();
      if (place === 'chart') endVersion();
      if (isFound) return versions > 0 ? kept : undefined;
      if (whole === undefined) throw tooLarge(`has no entry for ${chart} and is too large`);
      return entriesIn(Buffer.concat(whole))?.flatMap(keep);
    },
  };
}

/** Whether a line is the key of the chart, as in `shop:`, `"shop":` and `shop: # comment`. */
function isKeyOf(line: string, chart: string): boolean {
  const [, quoted, plain] = /^(?:"([^"]*)"|'([^']*)')[ \t]*:(?=\s|$)/.exec(line) ?? [];
  const name = quoted ?? plain ?? /^([^:]*?)[ \t]*:(?=\s|$)/.exec(line)?.[1];
  return name === chart && /:[ \t]*(?:#.*)?\r?$/.test(line);
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
