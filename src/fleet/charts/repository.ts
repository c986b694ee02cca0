/** A Helm repository: an index of versions, and the archives it points to. */
import { sameVersion } from '../../api/index.ts';
import { isLoopback } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { addressIn, download, downloadBytes, type Source, shown } from './download.ts';
import { entryReader } from './entries.ts';
import { isVersion } from './semver.ts';

export interface IndexedVersion {
  readonly version: string;
  readonly appVersion?: string;
  /** `sha256:…`, if the index has it. */
  readonly digest?: string;
  /** An absolute URL. */
  readonly address: URL;
}

/** An index is not kept: it is read as it arrives, up to the end of the entry of the chart. */
const mostIndexBytes = 128 * 1024 * 1024;
const mostChartBytes = 32 * 1024 * 1024;

export async function versionsInRepository(
  repository: string,
  chart: string,
  source: Source,
): Promise<readonly IndexedVersion[]> {
  const base = addressIn(repository.endsWith('/') ? repository : `${repository}/`);
  const read = (body: AsyncIterable<Buffer>) => versionsIn(body, chart, base);
  const { content } = await download(new URL('index.yaml', base), { ...source, mostBytes: mostIndexBytes, read });
  return content;
}

/** `versionsIn` returns the versions of a chart in an index. */
export async function versionsIn(
  index: AsyncIterable<Buffer> | Iterable<Buffer>,
  chart: string,
  base: URL,
): Promise<readonly IndexedVersion[]> {
  const reader = entryReader({ chart, repository: shown(base), keep: (entry) => indexed(entry, base) });
  for await (const chunk of index) {
    reader.write(chunk);
    if (reader.isDone()) break;
  }
  const versions = reader.end();
  if (versions !== undefined) return versions;
  throw new FleetError('chart/missing', `Repository ${shown(base)} has no chart ${chart}: check spec.chart.name`);
}

export async function fetchFromRepository(found: IndexedVersion, repository: string, source: Source): Promise<Buffer> {
  // Credentials are not sent to another host.
  const isSame = addressIn(repository).origin === found.address.origin;
  const { credentials: _, ...others } = source;
  return (await downloadBytes(found.address, { ...(isSame ? source : others), mostBytes: mostChartBytes })).content;
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
