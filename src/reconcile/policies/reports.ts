/**
 * Writes scan results as `openreports.io/v1alpha1` (or its predecessor): a Report per namespace and a ClusterReport for
 * cluster-scoped objects.
 *
 * Only changed reports are written, and a finding keeps the time when it was first seen.
 */
import { createHash } from 'node:crypto';
import {
  apiVersionOf,
  type Client,
  eachObject,
  isForbidden,
  isNotFound,
  type KubernetesObject,
  type Logger,
  type ObjectKey,
  keyOf as objectKeyOf,
} from '../../runtime/index.ts';
import type { ResourceMapping } from '../../runtime/internal.ts';
import { type Counts, type Finding, identityOf } from './ledger.ts';
import { type ReportApi, type ReportKinds, reportKinds } from './report-kinds.ts';

const reportName = 'kidp';
const managedBy = { 'app.kubernetes.io/managed-by': 'kidp' };
const managedBySelector = Object.entries(managedBy)
  .map(([key, value]) => `${key}=${value}`)
  .join(',');
const fieldManager = 'kidp-reports';

export const { reports, clusterReports } = reportKinds['openreports.io'];

interface ReportResult {
  readonly source: string;
  readonly policy: string;
  readonly rule: string;
  readonly category?: string;
  readonly severity: string;
  readonly result: Finding['outcome'];
  readonly scored: boolean;
  readonly timestamp: { readonly seconds: number; readonly nanos: number };
  readonly resources: readonly Finding['object'][];
  readonly message: string;
  readonly properties: Readonly<Record<string, string>>;
}

export interface Report extends KubernetesObject {
  source?: string;
  scope?: { apiVersion: string; kind: string; name: string };
  configuration?: { limits: { maxResults: number; statusFilter: string[] } };
  summary: Counts;
  results: ReportResult[];
}

export interface ReportContent {
  readonly counts: Counts;
  readonly findings: readonly Finding[];
}

/** The results of a scan by namespace; the empty name stands for cluster-scoped objects. */
export interface ScannedReports {
  /** The namespaces that may have changed. */
  readonly touched: ReadonlySet<string>;
  all(): Iterable<string>;
  /** Undefined if there are no results. */
  of(namespace: string): ReportContent | undefined;
}

/** `reportOf` builds the report of a namespace; the empty name stands for cluster-scoped objects. */
export function reportOf(
  namespace: string,
  { counts, findings }: ReportContent,
  options: {
    readonly maxResults: number;
    readonly now: number;
    readonly before?: Report | undefined;
    readonly kinds?: ReportKinds;
  },
): Report {
  const { kinds = reportKinds['openreports.io'] } = options;
  const resource = namespace === '' ? kinds.clusterReports : kinds.reports;
  const since = new Map((options.before?.results ?? []).map((result) => [keyOf(result), result.timestamp]));
  const now = { seconds: Math.floor(options.now / 1000), nanos: 0 };
  const results = findings.slice(0, options.maxResults).map((finding) => {
    const result = resultOf(finding, now);
    return { ...result, timestamp: since.get(keyOf(result)) ?? now };
  });
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name: reportName, ...(namespace === '' ? {} : { namespace }), labels: managedBy },
    ...(namespace === '' ? {} : { scope: { apiVersion: 'v1', kind: 'Namespace', name: namespace } }),
    ...(kinds.saysSource ? { source: 'kidp', configuration: configurationOf(options.maxResults) } : {}),
    summary: counts,
    results,
  };
}

const configurationOf = (maxResults: number) => ({
  limits: { maxResults, statusFilter: ['fail', 'error', 'warn', 'skip'] },
});

function resultOf(finding: Finding, timestamp: ReportResult['timestamp']): ReportResult {
  const { policy, rule, category, severity, outcome, denies, message, field, exception, object } = finding;
  return {
    source: 'kidp',
    policy,
    rule,
    ...(category === undefined ? {} : { category }),
    severity,
    result: outcome,
    scored: denies,
    timestamp,
    resources: [object],
    message,
    properties: {
      enforcement: denies ? 'Deny' : 'Report',
      ...(field === undefined ? {} : { field }),
      ...(exception === undefined ? {} : { exception }),
    },
  };
}

function keyOf({ policy, rule, result, resources }: ReportResult): string {
  const [object] = resources;
  if (object === undefined) return '';
  return identityOf({ policy, rule, outcome: result, object, denies: false, message: '', severity: '' });
}

/** The digest is equal if two reports have the same content, ignoring times. */
function digestOf(report: Report | undefined): string {
  if (report === undefined) return '';
  const { source, configuration, summary, results = [] } = report;
  const said = results.map(({ timestamp, resources, ...rest }) => [sorted(rest), resources.map(sorted)]);
  return createHash('sha256')
    .update(JSON.stringify([source, sorted(configuration?.limits ?? {}), sorted(summary ?? {}), said]))
    .digest('base64');
}

const sorted = (value: object): unknown[] => Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));

/** `removeReports` deletes all our reports from a cluster; it does nothing if the cluster does not serve them. */
export async function removeReports(client: Client): Promise<void> {
  for (const resource of [reports, clusterReports]) {
    const found: ObjectKey[] = [];
    const pages = { labelSelector: managedBySelector, firstPage: 50, laterPages: 50 };
    await eachObject(client, resource, pages, (object) => void found.push(objectKeyOf(object))).catch(
      (error: unknown) => {
        // Without read access no report was written.
        if (!isNotFound(error) && !isForbidden(error)) throw error;
      },
    );
    const ours = found.filter(({ name }) => name === reportName);
    await Promise.all(
      ours.map((key) =>
        client.delete(resource, key).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        }),
      ),
    );
  }
}

interface ReportWriterOptions {
  /** A client that works only while this process leads. */
  readonly client: Client;
  readonly mapping: () => ResourceMapping;
  readonly log: Logger;
  readonly maxResults?: number;
  readonly now?: () => number;
  readonly api?: ReportApi | undefined;
}

export class ReportWriter {
  readonly #options: ReportWriterOptions;
  /** Digests of the reports in the cluster, by namespace. */
  #written: Map<string, string> | undefined;

  constructor(options: ReportWriterOptions) {
    this.#options = options;
  }

  get kinds(): ReportKinds {
    return reportKinds[this.#options.api ?? 'openreports.io'];
  }

  /** Whether the cluster serves the report kinds. */
  get available(): boolean {
    const mapping = this.#options.mapping();
    const { group, version, reports: namespaced, clusterReports: global } = this.kinds;
    return [namespaced, global].every(({ kind }) => mapping.byKind(group, kind, version) !== undefined);
  }

  /**
   * Writes the changed reports of the touched namespaces; returns their number. All namespaces are written the first
   * time, and when the cluster starts to serve the kinds. Does nothing if they are not served.
   */
  async write({ touched, of, all }: ScannedReports, signal: AbortSignal): Promise<number> {
    if (!this.available) {
      this.#written = undefined;
      return 0;
    }
    const first = this.#written === undefined;
    this.#written ??= await this.#read(signal);
    const namespaces = first ? new Set([...all(), ...this.#written.keys()]) : touched;
    let writes = 0;
    for (const namespace of namespaces) {
      signal.throwIfAborted();
      writes += Number(await this.#writeOne(this.#written, namespace, of(namespace), signal));
    }
    return writes;
  }

  async #writeOne(
    written: Map<string, string>,
    namespace: string,
    wanted: ReportContent | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client, log, maxResults = 500, now = Date.now } = this.#options;
    const { kinds } = this;
    const resource = namespace === '' ? kinds.clusterReports : kinds.reports;
    const key = { name: reportName, ...(namespace === '' ? {} : { namespace }) };
    const made = (before?: Report) =>
      wanted === undefined ? undefined : reportOf(namespace, wanted, { maxResults, now: now(), before, kinds });
    const digest = digestOf(made());
    if (digest === (written.get(namespace) ?? '')) return false;
    try {
      if (wanted === undefined) await client.delete(resource, key, { signal });
      else {
        const before = await client.get<Report>(resource, key, { signal }).catch((error: unknown) => {
          if (isNotFound(error)) return undefined;
          throw error;
        });
        await client.apply(resource, made(before) as Report, { fieldManager, force: true, signal });
      }
      if (digest === '') written.delete(namespace);
      else written.set(namespace, digest);
      return true;
    } catch (error) {
      // A terminating namespace accepts no new objects, and a deleted one has no reports.
      if (!isNotFound(error) && !isForbidden(error)) throw error;
      written.delete(namespace);
      log.debug('report not written', { namespace, error });
      return false;
    }
  }

  async #read(signal: AbortSignal): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const labelSelector = managedBySelector;
    for (const resource of [this.kinds.reports, this.kinds.clusterReports]) {
      await eachObject(
        this.#options.client,
        resource,
        { labelSelector, signal, firstPage: 50, laterPages: 50 },
        (object) => {
          if (object.metadata.name === reportName) {
            found.set(object.metadata.namespace ?? '', digestOf(object as unknown as Report));
          }
        },
      );
    }
    return found;
  }
}
