/**
 * `openCharts` fetches the charts of Operators from any source. Fetched charts are cached in memory by source and
 * digest, up to a limit.
 */
import { createHash } from 'node:crypto';
import { type Operator, sameVersion } from '../../api/index.ts';
import { type Client, isNotFound, type UnknownObject } from '../../runtime/index.ts';
import { type AddressGuard, parseYaml, coreSecrets as secrets } from '../../runtime/internal.ts';
import { type Chart, type Charts, FleetError, type WorkContext } from '../contract.ts';
import { findHelm, type HelmBinary, type HelmLocation } from '../helm/index.ts';
import { type ChartFiles, unpack } from './archive.ts';
import { addressIn, type Credentials, type Source } from './download.ts';
import { readFromFolder } from './folder.ts';
import { ManifestError, objectsIn } from './manifests.ts';
import { fetchFromRegistry, versionsInRegistry } from './registry.ts';
import { isDefinition, renderChart, split, valuesDigest } from './render.ts';
import { fetchFromRepository, findVersion, type IndexedVersion, versionsInRepository } from './repository.ts';
import { compareVersions } from './semver.ts';

interface ChartsOptions {
  readonly helm?: HelmLocation;
  /** The client of the management cluster, for the credentials of repositories. */
  readonly client: Client;
  readonly systemNamespace: string;
  /** The base directory of `spec.chart.path`. */
  readonly folder?: string | undefined;
  /** The guard of connections: the author of an Operator chooses the address. Default: loopback is allowed. */
  readonly guard?: AddressGuard | undefined;
  /** The size limit of the cache. */
  readonly mostKeptBytes?: number;
}

/** An index is reused for the versions that are fetched right after it. */
const indexMilliseconds = 5_000;

export function openCharts(options: ChartsOptions): Charts {
  const fetcher = new ChartFetcher(options);
  let helm: Promise<HelmBinary> | undefined;
  const theHelm = () => {
    helm ??= findHelm(options.helm).catch((error: unknown) => {
      helm = undefined;
      throw error;
    });
    return helm;
  };

  return {
    async versions(operator, context) {
      const { chart } = operator.spec;
      if (chart.path !== undefined) {
        const { version, appVersion, digest } = await chartOf(await readFromFolder(options.folder, chart.path));
        return [{ version, digest, ...(appVersion === undefined ? {} : { appVersion }) }];
      }
      const found: readonly { version: string; appVersion?: string; digest?: string }[] =
        chart.oci === undefined
          ? (await fetcher.indexOf(operator, context)).map(({ address: _, ...version }) => version)
          : await versionsInRegistry(chart.oci, await fetcher.sourceOf(operator, context));
      return [...found].sort((one, other) => compareVersions(other.version, one.version));
    },

    async fetch(operator, version, context) {
      const got = await fetcher.bytesOf(operator, version, context);
      const chart = Buffer.isBuffer(got) ? await chartOf(got) : got;
      if (!sameVersion(chart.version, version)) {
        if (operator.spec.chart.path !== undefined) throw noSuchVersion(operator, version);
        throw new FleetError(
          'chart/invalid',
          `The chart fetched as version ${version} declares version ${chart.version}`,
        );
      }
      const pinned = operator.spec.versions?.find((each) => sameVersion(each.chartVersion ?? each.version, version));
      if (pinned?.digest !== undefined && pinned.digest !== chart.digest) {
        throw new FleetError(
          'chart/digest',
          `The chart ${version} has digest ${chart.digest}, want ${pinned.digest} from spec.versions`,
        );
      }
      fetcher.kept.put(operator, chart);
      return chart;
    },

    async look({ bytes, name }, { signal }) {
      const files = await unpack(bytes);
      const inTemplates = [...files].some(
        ([path, data]) => path.includes('/templates/') && data.includes('CustomResourceDefinition'),
      );
      const isNeeded = inTemplates || hasArchives(files);
      try {
        const { definitions } = await renderChart(await theHelm(), {
          bytes,
          releaseName: releaseNameFor(name),
          namespace: 'default',
          values: [],
          signal,
        });
        if (isNeeded) return { definitions };
      } catch (error) {
        // Definitions in crds/ are known without Helm.
        if (!(error instanceof FleetError)) throw error;
        if (error.code === 'chart/does-not-render') {
          return { definitions: await definitionsIn(files), doesNotRender: error.message };
        }
        if (isNeeded) throw error;
      }
      return { definitions: await definitionsIn(files) };
    },

    async render(chart, input, context) {
      const { operator, version, environment, kubernetesVersion, namespace, releaseName, values, hasSecrets } = input;
      const { definitions, manifests } = await renderChart(await theHelm(), {
        bytes: chart.bytes,
        releaseName,
        namespace,
        kubernetesVersion,
        values,
        hasSecrets,
        signal: context.signal,
      });
      return {
        operator,
        version,
        chartDigest: chart.digest,
        valuesDigest: valuesDigest(values),
        environment,
        kubernetesVersion,
        namespace,
        releaseName,
        definitions,
        manifests,
      };
    },
  };
}

/** Fetches the archives of charts: from a directory, a registry or a repository. */
class ChartFetcher {
  readonly kept: Kept;
  readonly #options: ChartsOptions;
  readonly #indexes = new Map<string, { readonly at: number; readonly versions: readonly IndexedVersion[] }>();

  constructor(options: ChartsOptions) {
    this.#options = options;
    this.kept = new Kept(options.mostKeptBytes ?? 64 * 1024 * 1024);
  }

  async sourceOf({ spec }: Operator, context: WorkContext): Promise<Source> {
    const { credentialsSecret, caBundle } = spec.chart;
    return {
      credentials: credentialsSecret === undefined ? undefined : await credentialsIn(this.#options, spec.chart),
      authorities: caBundle === undefined ? undefined : Buffer.from(caBundle, 'base64').toString('utf8'),
      signal: context.signal,
      guard: this.#options.guard,
    };
  }

  async indexOf(operator: Operator, context: WorkContext): Promise<readonly IndexedVersion[]> {
    const repository = operator.spec.chart.repository ?? '';
    const chart = operator.spec.chart.name ?? operator.metadata.name;
    const versions = await versionsInRepository(repository, chart, await this.sourceOf(operator, context));
    for (const [key, { at }] of this.#indexes)
      if (performance.now() - at > indexMilliseconds) this.#indexes.delete(key);
    this.#indexes.set(indexKey(operator), { at: performance.now(), versions });
    return versions;
  }

  async #indexed(operator: Operator, version: string, context: WorkContext): Promise<IndexedVersion> {
    const known = this.#indexes.get(indexKey(operator));
    const isFresh = known !== undefined && performance.now() - known.at <= indexMilliseconds;
    const found = isFresh ? findVersion(known.versions, version) : undefined;
    const entry = found ?? findVersion(await this.indexOf(operator, context), version);
    if (entry === undefined) throw noSuchVersion(operator, version);
    return entry;
  }

  async bytesOf(operator: Operator, version: string, context: WorkContext): Promise<Chart | Buffer> {
    const { chart } = operator.spec;
    if (chart.path !== undefined) return readFromFolder(this.#options.folder, chart.path);
    const source = await this.sourceOf(operator, context);
    if (chart.oci !== undefined) {
      const address = chart.oci;
      const known = (digest: string) => this.kept.get(operator, digest)?.bytes;
      const fetched = await fetchFromRegistry(address, version, source, known).catch(
        // Tags have a leading v or not.
        (error: unknown) => {
          if (!(error instanceof FleetError) || error.code !== 'chart/missing') throw error;
          const other = version.startsWith('v') ? version.slice(1) : `v${version}`;
          return fetchFromRegistry(address, other, source, known);
        },
      );
      return this.kept.get(operator, fetched.digest) ?? fetched.bytes;
    }
    const entry = await this.#indexed(operator, version, context);
    const known = entry.digest === undefined ? undefined : this.kept.get(operator, entry.digest);
    if (known !== undefined) return known;
    const bytes = await fetchFromRepository(entry, chart.repository ?? '', source);
    if (entry.digest !== undefined && digestOf(bytes) !== entry.digest) {
      throw new FleetError(
        'chart/digest',
        `The chart ${version} does not have the digest in the index of its repository`,
      );
    }
    return bytes;
  }
}

/**
 * A cache keyed by source and digest: an index may name the digest of any chart, including one that its author must not
 * read. The least recently used are dropped first.
 */
class Kept {
  readonly #charts = new Map<string, Chart>();
  readonly #mostBytes: number;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get(operator: Operator, digest: string): Chart | undefined {
    const chart = this.#charts.get(keptAs(operator, digest));
    if (chart !== undefined) this.put(operator, chart);
    return chart;
  }

  put(operator: Operator, chart: Chart): void {
    const key = keptAs(operator, chart.digest);
    this.#charts.delete(key);
    this.#charts.set(key, chart);
    let size = [...this.#charts.values()].reduce((total, { bytes }) => total + bytes.length, 0);
    for (const [oldest, { bytes }] of this.#charts) {
      if (size <= this.#mostBytes) break;
      this.#charts.delete(oldest);
      size -= bytes.length;
    }
  }
}

const keptAs = ({ metadata, spec }: Operator, digest: string): string =>
  JSON.stringify([spec.chart, spec.chart.name ?? metadata.name, digest]);

/** `chartOf` reads Chart.yaml. Rejects with `chart/invalid`. */
async function chartOf(bytes: Buffer): Promise<Chart> {
  const files = await unpack(bytes);
  const [, text] = [...files].find(([path]) => /^[^/]+\/Chart\.yaml$/.test(path)) ?? [];
  const { name, version, appVersion, type } = (readYaml(text) ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof name !== 'string' || typeof version !== 'string') {
    throw new FleetError('chart/invalid', 'The chart cannot be read: its Chart.yaml has no name and version');
  }
  if (type === 'library') throw new FleetError('chart/invalid', `${name} is a library chart, which installs nothing`);
  const said = typeof appVersion === 'number' ? String(appVersion) : appVersion;
  return { name, version, ...(typeof said === 'string' ? { appVersion: said } : {}), digest: digestOf(bytes), bytes };
}

function readYaml(data: Buffer | undefined): unknown {
  try {
    return data === undefined ? undefined : parseYaml(data.toString('utf8'));
  } catch {
    return undefined;
  }
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

const indexKey = ({ metadata, spec }: Operator): string => JSON.stringify([metadata.name, metadata.uid, spec.chart]);

const noSuchVersion = ({ metadata }: Operator, version: string): FleetError =>
  new FleetError('chart/missing', `The chart of ${metadata.name} has no version ${version}`);

/** Subcharts may be nested archives; only Helm reads those. */
const hasArchives = (files: ChartFiles): boolean =>
  [...files.keys()].some((path) => /\/charts\/[^/]+\.tgz$/.test(path));

async function definitionsIn(files: ChartFiles): Promise<readonly UnknownObject[]> {
  const found: UnknownObject[] = [];
  for (const [path, data] of [...files].sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (!/(?:^|\/)crds\/.*\.(?:ya?ml|json)$/.test(path)) continue;
    try {
      found.push(...(await objectsIn(data.toString('utf8'))));
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      throw new FleetError('chart/invalid', `The chart cannot be read: ${path}: ${error.message}`);
    }
  }
  return split(found.filter(isDefinition)).definitions;
}

/** Release names have at most 53 characters and a smaller character set than chart names. */
const releaseNameFor = (chart: string): string =>
  chart
    .toLowerCase()
    .replace(/[^a-z0-9-]/g, '-')
    .slice(0, 53)
    .replace(/^-+|-+$/g, '') || 'chart';

/** Names the repository or registry that the credentials of a Secret are for. */
const repositoryAnnotation = 'platform.company.com/repository';

/**
 * Only credentials annotated for this repository are used; otherwise the author of an Operator could send any Secret of
 * the platform to a host of their choice. A missing Secret gives the same error, so that nobody learns which Secrets
 * exist.
 */
async function credentialsIn(
  { client, systemNamespace }: ChartsOptions,
  { credentialsSecret: name = '', oci, repository = '' }: Operator['spec']['chart'],
): Promise<Credentials> {
  const { protocol, host } = addressIn(oci ?? repository);
  const place = `${protocol}//${host}`;
  const secret = await client.get(secrets, { namespace: systemNamespace, name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  if (secret?.metadata.annotations?.[repositoryAnnotation] !== place) {
    throw new FleetError(
      'chart/unreachable',
      `spec.chart.credentialsSecret: Secret ${name} in namespace ${systemNamespace} must exist and have the annotation ${repositoryAnnotation}: ${place}`,
    );
  }
  const data = (secret.data ?? {}) as Readonly<Record<string, string>>;
  const text = (key: string) => Buffer.from(data[key] ?? '', 'base64').toString('utf8');
  return { username: text('username'), password: text('password') };
}
