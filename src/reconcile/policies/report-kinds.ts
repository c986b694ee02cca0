/**
 * Report kinds: openreports.io, or its predecessor wgpolicyk8s.io, which some dashboards still read. Fields that the
 * predecessor lacks are omitted.
 */
import type { Resource } from '../../runtime/index.ts';

const reportApis = ['openreports.io', 'wgpolicyk8s.io'] as const;
export type ReportApi = (typeof reportApis)[number];

export interface ReportKinds {
  readonly group: ReportApi;
  readonly version: string;
  readonly reports: Resource;
  readonly clusterReports: Resource;
  /** Whether a report names its source and its configuration. */
  readonly saysSource: boolean;
}

const open = { group: 'openreports.io', version: 'v1alpha1' } as const;
const older = { group: 'wgpolicyk8s.io', version: 'v1alpha2' } as const;

export const reportKinds: Readonly<Record<ReportApi, ReportKinds>> = {
  'openreports.io': {
    ...open,
    reports: { ...open, plural: 'reports', kind: 'Report', namespaced: true },
    clusterReports: { ...open, plural: 'clusterreports', kind: 'ClusterReport', namespaced: false },
    saysSource: true,
  },
  'wgpolicyk8s.io': {
    ...older,
    reports: { ...older, plural: 'policyreports', kind: 'PolicyReport', namespaced: true },
    clusterReports: { ...older, plural: 'clusterpolicyreports', kind: 'ClusterPolicyReport', namespaced: false },
    saysSource: false,
  },
};
