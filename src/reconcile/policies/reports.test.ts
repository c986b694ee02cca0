import { describe, expect, test } from 'vitest';
import { memoryCluster } from '../../../test/support/memory-cluster.ts';
import { ApiError, silentLogger } from '../../runtime/index.ts';
import { discover, resourceMapping } from '../../runtime/internal.ts';
import type { Finding } from './ledger.ts';
import { reportKinds } from './report-kinds.ts';
import { clusterReports, type Report, type ReportContent, ReportWriter, reportOf, reports } from './reports.ts';

const finding = (name: string, more: Partial<Finding> = {}): Finding => ({
  policy: 'p',
  rule: 'r',
  outcome: 'fail',
  denies: true,
  message: 'm',
  severity: 'high',
  object: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'n', name },
  ...more,
});
const content = (...findings: Finding[]): ReportContent => ({
  counts: { pass: 3, fail: findings.length, warn: 0, error: 0, skip: 0 },
  findings,
});
const { signal } = new AbortController();

describe('a report', () => {
  test('is of one namespace, capped, with the time at which each finding was first seen', () => {
    const options = { maxResults: 2, now: 5_000 };
    const before = reportOf('n', content(finding('a')), { ...options, now: 1_000 });
    const report = reportOf('n', content(finding('a'), finding('b'), finding('c')), { ...options, before });
    expect(report).toMatchObject({
      apiVersion: 'openreports.io/v1alpha1',
      kind: 'Report',
      metadata: { name: 'kidp', namespace: 'n' },
      source: 'kidp',
      scope: { kind: 'Namespace', name: 'n' },
      summary: { pass: 3, fail: 3 },
      configuration: { limits: { maxResults: 2 } },
    });
    expect(report.results.map(({ resources, timestamp }) => [resources[0]?.name, timestamp.seconds])).toEqual([
      ['a', 1],
      ['b', 5],
    ]);
  });

  test('of cluster-scoped objects is a ClusterReport', () => {
    const report = reportOf('', content(), { maxResults: 2, now: 0 });
    expect(report).toMatchObject({ kind: 'ClusterReport', metadata: { name: 'kidp' } });
    expect(report.metadata).not.toHaveProperty('namespace');
  });

  test('is written as its predecessor if configured, without the fields that it lacks', () => {
    const kinds = reportKinds['wgpolicyk8s.io'];
    const report = reportOf('n', content(finding('a')), { maxResults: 2, now: 0, kinds });
    expect(report).toMatchObject({ apiVersion: 'wgpolicyk8s.io/v1alpha2', kind: 'PolicyReport', summary: { fail: 1 } });
    expect(Object.keys(report).sort()).toEqual(['apiVersion', 'kind', 'metadata', 'results', 'scope', 'summary']);
    expect(reportOf('', content(), { maxResults: 2, now: 0, kinds }).kind).toBe('ClusterPolicyReport');
  });

  test('marks audit results and exemptions', () => {
    const { results } = reportOf(
      'n',
      content(finding('a', { denies: false }), finding('b', { outcome: 'skip', exception: 'x/e', field: 'data.a' })),
      { maxResults: 5, now: 0 },
    );
    expect(results).toMatchObject([
      { result: 'fail', scored: false, properties: { enforcement: 'Report' } },
      { result: 'skip', properties: { exception: 'x/e', field: 'data.a' } },
    ]);
  });
});

describe('writing', () => {
  async function writer(served = [reports, clusterReports]) {
    const cluster = memoryCluster(served);
    const mapping = resourceMapping((await discover(cluster.client)).resources);
    const make = () =>
      new ReportWriter({ client: cluster.client, mapping: () => mapping, log: silentLogger, now: () => 1_000 });
    const found = new Map<string, ReportContent>();
    const scanned = (...touched: string[]) => ({
      touched: new Set(touched),
      all: () => found.keys(),
      of: (namespace: string) => found.get(namespace),
    });
    const writes = () => cluster.calls.filter((call) => /^(apply|delete)/.test(call));
    return { cluster, make, found, scanned, writes };
  }

  test('writes changed reports, and deletes empty ones', async () => {
    const { cluster, make, found, scanned, writes } = await writer();
    const first = make();
    found.set('n', content(finding('a'))).set('', content());
    expect(await first.write(scanned(), signal)).toBe(2);
    expect(await first.write(scanned('n', ''), signal)).toBe(0);
    found.set('n', content(finding('a'), finding('b')));
    expect(await first.write(scanned('n'), signal)).toBe(1);
    found.delete('n');
    expect(await first.write(scanned('n'), signal)).toBe(1);
    expect(writes()).toEqual([
      'apply reports n/kidp',
      'apply clusterreports kidp',
      'apply reports n/kidp',
      'delete reports n/kidp',
    ]);
    expect(cluster.get(reports, { namespace: 'n', name: 'kidp' })).toBeUndefined();
  });

  test('a new leader takes over existing reports with their times, and deletes obsolete ones', async () => {
    const { cluster, make, found, scanned, writes } = await writer();
    found.set('n', content(finding('a'))).set('old', content(finding('a')));
    await make().write(scanned(), signal);
    cluster.calls.length = 0;
    found.delete('old');
    const next = make();
    expect(await next.write(scanned(), signal)).toBe(1);
    expect(writes()).toEqual(['delete reports old/kidp']);
    found.set('n', content(finding('a'), finding('b')));
    await next.write(scanned('n'), signal);
    const report = cluster.get(reports, { namespace: 'n', name: 'kidp' }) as unknown as Report;
    expect(report.results.map(({ timestamp }) => timestamp.seconds)).toEqual([1, 1]);
  });

  test('does nothing if reports are not served', async () => {
    const { make, found, scanned, writes } = await writer([]);
    found.set('n', content(finding('a')));
    const nowhere = make();
    expect(nowhere.available).toBe(false);
    expect(await nowhere.write(scanned('n'), signal)).toBe(0);
    expect(writes()).toEqual([]);
  });

  test('continues for a terminating namespace, and stops if the server is unavailable', async () => {
    const { cluster, make, found, scanned } = await writer();
    found.set('n', content(finding('a')));
    const one = make();
    await one.write(scanned(), signal);
    found.set('n', content(finding('b')));
    cluster.refuse(
      'reports',
      new ApiError({ doing: 'apply', status: 403, reason: 'Forbidden', message: 'terminating' }),
    );
    expect(await one.write(scanned('n'), signal)).toBe(0);
    cluster.refuse('reports', new Error('unavailable'));
    await expect(one.write(scanned('n'), signal)).rejects.toThrow('unavailable');
  });
});
