/** A Helm repository: an index of versions, and the archives it points to. */
import { sameVersion } from '../../api/index.ts';
import { isLoopback, parseYaml } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { addressIn, download, type Source, shown } from './download.ts';
import { isVersion } from './semver.ts';

export interface IndexedVersion {
  readonly version: string;
  readonly appVersion?: string;
  /** `sha256:…`, if the index has it. */
  readonly digest?: string;
  /** An absolute URL. */
  readonly address: URL;
}

const mostIndexBytes = 128 * 1024 * 1024;
/** The limit for the entry of one chart, or for an index that must be parsed whole, which is slow. */
const mostParsed = 4 * 1024 * 1024;
const mostChartBytes = 32 * 1024 * 1024;

export async function versionsInRepository(
  repository: string,
  chart: string,
  source: Source,
): Promise<readonly IndexedVersion[]> {
  const base = addressIn(repository.endsWith('/') ? repository : `${repository}/`);
  const { bytes } = await download(new URL('index.yaml', base), { ...source, mostBytes: mostIndexBytes });
  return versionsIn(bytes.toString('utf8'), chart, base);
}

/** `versionsIn` returns the versions of a chart in an index. */
export function versionsIn(index: string, chart: string, base: URL): readonly IndexedVersion[] {
  const entries = entriesFor(index, chart, base);
  if (entries === undefined) {
    throw new FleetError('chart/missing', `Repository ${shown(base)} has no chart ${chart}: check spec.chart.name`);
  }
  return entries.flatMap((entry) => indexed(entry, base));
}

export async function fetchFromRepository(found: IndexedVersion, repository: string, source: Source): Promise<Buffer> {
  // Credentials are not sent to another host.
  const isSame = addressIn(repository).origin === found.address.origin;
  const { credentials: _, ...others } = source;
  return (await download(found.address, { ...(isSame ? source : others), mostBytes: mostChartBytes })).bytes;
}

export const findVersion = <Version extends { readonly version: string }>(
  versions: readonly Version[],
  wanted: string,
): Version | undefined =>
  versions.find(({ version }) => version === wanted) ?? versions.find(({ version }) => sameVersion(version, wanted));

function indexed(entry: unknown, base: URL): IndexedVersion[] {
  const { version, appVersion, digest, urls } = (entry ?? {}) as Readonly<Record<string, unknown>>;
  const [first] = Array.isArray(urls) ? urls : [];
  if (typeof version !== 'string' || !isVersion(version) || typeof first !== 'string') return [];
  if (!URL.canParse(first, base.href)) return [];
  const address = new URL(first, base);
  // A remote repository must not point to loopback.
  const isLocal = isLoopback(base.hostname);
  const mayBeAsked =
    (address.protocol === 'https:' && (isLocal || !isLoopback(address.hostname))) ||
    (address.protocol === 'http:' && isLocal);
  if (!mayBeAsked) return [];
  return [
    {
      version,
      ...(typeof appVersion === 'string' ? { appVersion } : {}),
      ...(typeof digest === 'string' && /^(sha256:)?[0-9a-f]{64}$/.test(digest)
        ? { digest: `sha256:${digest.replace('sha256:', '')}` }
        : {}),
      address,
    },
  ];
}

/** Only the entry of the chart is parsed: the index of a large repository has tens of megabytes. */
function entriesFor(index: string, chart: string, base: URL): readonly unknown[] | undefined {
  const part = partFor(index, chart);
  if ((part ?? index).length > mostParsed) {
    const what = part === undefined ? `has no entry for ${chart} and` : `has an entry for ${chart} that`;
    throw new FleetError('chart/invalid', `The index of ${shown(base)} ${what} is too large`);
  }
  try {
    const read = parseYaml(part ?? index, { strict: false }) as Readonly<Record<string, unknown>> | null;
    const entries = (part === undefined ? read?.entries : read) as Readonly<Record<string, unknown>> | undefined;
    const versions =
      entries !== null && typeof entries === 'object' && Object.hasOwn(entries, chart) ? entries[chart] : [];
    if (part === undefined && (read === null || typeof read !== 'object' || !('entries' in read)))
      throw new Error('no');
    return Array.isArray(versions) && versions.length > 0 ? versions : undefined;
  } catch (cause) {
    throw new FleetError('chart/unreachable', `${shown(base)} has no valid Helm repository index`, { cause });
  }
}

/** The lines of `entries:` from the chart name to the next one, as `helm repo index` writes them. */
function partFor(index: string, chart: string): string | undefined {
  const start = /^entries:[ \t]*\r?\n/m.exec(index);
  if (start === null) return undefined;
  const from = start.index + start[0].length;
  const [, indent = ''] = /^([ ]+)\S/.exec(index.slice(from, from + 1024)) ?? [];
  if (indent === '') return undefined;
  const name = chart.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const key = new RegExp(`^${indent}["']?${name}["']?:[ \\t]*\\r?\\n`, 'gm');
  key.lastIndex = from;
  const found = key.exec(index);
  if (found === null) return undefined;
  const next = new RegExp(`^(?:${indent}[^\\s\\-#]|[^\\s\\-#])`, 'gm');
  next.lastIndex = found.index + found[0].length;
  return index.slice(found.index, next.exec(index)?.index ?? index.length);
}
