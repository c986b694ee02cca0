/** Charts in an OCI registry: tags are versions, and one layer of the manifest is the archive. */
import { createHash } from 'node:crypto';
import { isLoopback } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';
import { addressIn, authorization, type Downloaded, downloadBytes, type Source, shown } from './download.ts';
import { isVersion } from './semver.ts';

const manifestTypes = 'application/vnd.oci.image.manifest.v1+json';
const chartLayer = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';
const mostChartBytes = 32 * 1024 * 1024;
/** Manifests and lists of tags, which are parsed. */
const mostParsed = 1024 * 1024;
const mostToken = 64 * 1024;
const mostPages = 20;

/** A location `oci://host/path`. */
interface Place {
  readonly origin: string;
  readonly path: string;
}

export async function versionsInRegistry(address: string, source: Source): Promise<readonly { version: string }[]> {
  const place = placeOf(address);
  const versions: string[] = [];
  let next: URL | undefined = new URL(`/v2/${place.path}/tags/list?n=1000`, place.origin);
  for (let page = 0; next !== undefined && page < mostPages; page += 1) {
    const { content, headers } = await ask(next, place, source, mostParsed);
    versions.push(...versionsInTags(content, next));
    next = nextPage(headers.link, next);
  }
  if (versions.length === 0) throw new FleetError('chart/missing', `No chart version found at ${address}`);
  return versions.map((version) => ({ version }));
}

/**
 * `fetchFromRegistry` returns the archive and its digest. `known` is checked first, so that nothing is fetched twice.
 */
export async function fetchFromRegistry(
  address: string,
  version: string,
  source: Source,
  known: (digest: string) => Buffer | undefined,
): Promise<{ readonly bytes: Buffer; readonly digest: string }> {
  const place = placeOf(address);
  const tag = version.replaceAll('+', '_');
  const manifestAt = new URL(`/v2/${place.path}/manifests/${encodeURIComponent(tag)}`, place.origin);
  const { content: manifest } = await ask(manifestAt, place, source, mostParsed, { accept: manifestTypes });
  const digest = digestInManifest(manifest, manifestAt);
  if (digest === undefined) throw new FleetError('chart/invalid', `${address}:${tag} is not a Helm chart`);
  const kept = known(digest);
  if (kept !== undefined) return { bytes: kept, digest };
  const blobAt = new URL(`/v2/${place.path}/blobs/${digest}`, place.origin);
  const { content: bytes } = await ask(blobAt, place, source, mostChartBytes);
  if (`sha256:${createHash('sha256').update(bytes).digest('hex')}` !== digest) {
    throw new FleetError('chart/digest', `The content of ${address} does not match the digest of tag ${tag}`);
  }
  return { bytes, digest };
}

/** `versionsInTags` returns the versions in a list of tags. */
export function versionsInTags(bytes: Buffer, from: URL): string[] {
  const { tags } = json(bytes, from) as { tags?: unknown };
  const texts = Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  // Tags cannot contain a plus sign; Helm writes an underscore instead.
  return texts.map((tag) => tag.replaceAll('_', '+')).filter(isVersion);
}

/** `digestInManifest` returns the digest of the chart archive; undefined if the manifest is not that of a chart. */
export function digestInManifest(bytes: Buffer, from: URL): string | undefined {
  const { layers } = json(bytes, from) as { layers?: unknown };
  const listed = (Array.isArray(layers) ? layers : []) as ({ mediaType?: unknown; digest?: unknown } | null)[];
  const digest = listed.find((layer) => layer?.mediaType === chartLayer)?.digest;
  return typeof digest === 'string' && /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}

function placeOf(address: string): Place {
  const { host, pathname } = addressIn(address);
  const path = pathname.replace(/^\/+|\/+$/g, '');
  const scheme = isLoopback(addressIn(`http://${host}`).hostname) ? 'http' : 'https';
  return { origin: `${scheme}://${host}`, path };
}

/** Tries without a token first and, if the registry requires one, requests it and retries. */
async function ask(
  address: URL,
  place: Place,
  source: Source,
  mostBytes: number,
  headers: Readonly<Record<string, string>> = {},
): Promise<Downloaded> {
  const { credentials, ...others } = source;
  const first = await downloadBytes(address, { ...others, mostBytes, alsoTakes: [401], headers });
  if (first.status === 200) return first;
  const challenge = String(first.headers['www-authenticate'] ?? '');
  const answer = /^bearer /i.test(challenge)
    ? { authorization: `Bearer ${await token(challenge, place, source)}` }
    : authorization(credentials);
  return downloadBytes(address, { ...others, mostBytes, headers: { ...headers, ...answer } });
}

async function token(challenge: string, place: Place, source: Source): Promise<string> {
  const address = tokenAddress(challenge, place);
  const { content } = await downloadBytes(address, { ...source, mostBytes: mostToken });
  const { token: one, access_token: other } = json(content, address) as { token?: string; access_token?: string };
  const got = one ?? other;
  if (typeof got !== 'string') throw new FleetError('chart/unreachable', `${shown(address)} returned no token`);
  return got;
}

/** `tokenAddress` returns the token endpoint of the challenge. A remote registry must not point to loopback. */
export function tokenAddress(challenge: string, { origin, path }: Place): URL {
  const said = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
  const realm = said.realm;
  if (realm === undefined || !URL.canParse(realm)) {
    throw new FleetError('chart/unreachable', `${origin} names no token endpoint`);
  }
  const address = new URL(realm);
  if (isLoopback(address.hostname) && !isLoopback(addressIn(origin).hostname)) {
    throw new FleetError('chart/unreachable', `${origin} names a token endpoint that is not allowed`);
  }
  if (said.service !== undefined) address.searchParams.set('service', said.service);
  address.searchParams.set('scope', said.scope ?? `repository:${path}:pull`);
  return address;
}

/** `nextPage` returns the address of the next list of tags, if it is on the same server. */
export function nextPage(link: string | string[] | undefined, from: URL): URL | undefined {
  const next = /<([^>]+)>;\s*rel="?next"?/.exec(String(link ?? ''))?.[1];
  if (next === undefined || !URL.canParse(next, from.href)) return undefined;
  const address = new URL(next, from);
  return address.origin === from.origin ? address : undefined;
}

function json(bytes: Buffer, from: URL): unknown {
  try {
    return (JSON.parse(bytes.toString('utf8')) as unknown) ?? {};
  } catch (cause) {
    throw new FleetError('chart/unreachable', `${shown(from)} is not an OCI registry`, { cause });
  }
}
