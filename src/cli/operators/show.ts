/** `kidp operators list` and `status`. */
import {
  OPERATOR_LABEL,
  type Operator,
  type OperatorInstallation,
  operatorInstallation,
  operator as operatorKind,
} from '../../api/index.ts';
import { type Client, type Condition, eachObject, getCondition, isNotFound } from '../../runtime/index.ts';
import { liveReader, plainLine } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';
import { facts, print, table, withManagement } from '../common/management.ts';
import type { ShowFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';

export async function listOperators(flags: ShowFlags, streams: Streams): Promise<number> {
  const all = await withManagement(flags, (client) => liveReader(client).list<Operator>(operatorKind.resource));
  const shown = all.map(rowOf).sort((one, other) => one.name.localeCompare(other.name));
  print(shown, () => listText(shown), flags, streams);
  return 0;
}

/** Exits with 1 if the operator cannot be rolled out, or is unhealthy on a cluster. */
export async function operatorStatus(name: string, flags: ShowFlags, streams: Streams): Promise<number> {
  const report = await withManagement(flags, async (client) => reportOf(...(await asked(client, name))));
  print(report, () => statusText(report), flags, streams);
  return report.ready && report.clusters.every(({ health }) => health !== 'Unhealthy') ? 0 : 1;
}

async function asked(client: Client, name: string): Promise<[Operator, OperatorInstallation[]]> {
  const found = await client.get<Operator>(operatorKind.resource, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new InputError('operator', `there is no Operator ${name}; see \`kidp operators list\`.`);
  });
  const installations: OperatorInstallation[] = [];
  const labelSelector = `${OPERATOR_LABEL}=${name}`;
  await eachObject(client, operatorInstallation.resource, { labelSelector }, (object) => {
    installations.push(object as unknown as OperatorInstallation);
  });
  return [found, installations];
}

type Row = ReturnType<typeof rowOf>;

export function rowOf({ metadata, spec, status }: Operator) {
  const ready = getCondition(status?.conditions as Condition[] | undefined, 'Ready');
  const { chart } = spec;
  return {
    name: metadata.name,
    id: metadata.uid,
    namespace: spec.namespace ?? 'operators',
    chart: chart.repository ?? chart.oci ?? chart.path ?? '',
    newest: status?.versions?.find(({ state }) => state === 'Available' || state === 'Listed')?.version,
    installations: status?.installations ?? 0,
    healthyInstallations: status?.healthyInstallations ?? 0,
    ready: ready?.status === 'True',
    reason: ready?.reason ?? 'NotReconciled',
    message: ready?.message ?? 'The platform has not reconciled it yet',
  };
}

export function listText(rows: readonly Row[]): string {
  if (rows.length === 0) return 'there are no operators; create an Operator to register one\n';
  return table(
    ['NAME', 'NEWEST', 'NAMESPACE', 'CLUSTERS', 'HEALTHY', 'READY', 'REASON'],
    rows.map((row) => [
      row.name,
      row.newest ?? '-',
      row.namespace,
      String(row.installations),
      String(row.healthyInstallations),
      row.ready ? 'yes' : 'no',
      row.ready ? '' : row.reason,
    ]),
  );
}

export type OperatorReport = ReturnType<typeof reportOf>;

export function reportOf(operator: Operator, installations: readonly OperatorInstallation[]) {
  return {
    ...rowOf(operator),
    checked: operator.status?.repositoryCheckedAt,
    versions: (operator.status?.versions ?? []).map(
      ({ version, chartVersion, state, compatibility, definitions = [], message }) => ({
        version,
        chartVersion,
        state,
        compatibility,
        definitions: definitions.length,
        message,
      }),
    ),
    clusters: installations
      .map(({ spec, status }) => ({
        cluster: spec.cluster,
        version: spec.version,
        health: status?.health ?? 'Unknown',
        pods: status?.pods?.state ?? 'Unknown',
        controllerPods: status?.controllerPods,
        webhook: status?.webhook?.state ?? 'Unknown',
        reconciliation: status?.reconciliation?.state ?? 'Unknown',
        since: status?.since,
        deployment: spec.deployment,
        message: [status?.pods, status?.webhook, status?.reconciliation].find(
          (part) => part?.state === 'Unhealthy' || part?.state === 'Unknown',
        )?.message,
      }))
      .sort((one, other) => one.cluster.localeCompare(other.cluster)),
  };
}

/** The newest; a repository may have hundreds. */
const mostVersions = 10;

export function statusText(report: OperatorReport): string {
  const known = facts([
    ['Name', report.name],
    ['Id', report.id],
    ['Chart', report.chart],
    ['Namespace', report.namespace],
    ['Repository', report.checked === undefined ? undefined : `reached ${report.checked}`],
    ['Clusters', `${report.installations}, well on ${report.healthyInstallations}`],
  ]);
  const why = report.ready ? '' : `\n${plainLine(report.message === '' ? report.reason : report.message)}\n`;
  const shown = report.versions.slice(0, mostVersions);
  const more = report.versions.length - shown.length;
  const versions =
    shown.length === 0
      ? ''
      : `\n${table(
          ['VERSION', 'CHART', 'STATE', 'COMPATIBILITY', 'DEFINITIONS', 'WHY'],
          shown.map((each) => [
            each.version,
            each.chartVersion,
            each.state,
            each.compatibility ?? '-',
            String(each.definitions),
            each.message ?? '',
          ]),
        )}${more > 0 ? `and ${more} more: -o json shows all\n` : ''}`;
  const clusters =
    report.clusters.length === 0
      ? ''
      : `\n${table(
          ['CLUSTER', 'VERSION', 'HEALTH', 'PODS', 'WEBHOOK', 'RECONCILIATION', 'WHY'],
          report.clusters.map((each) => [
            each.cluster,
            each.version,
            each.health,
            each.controllerPods === undefined ? each.pods : `${each.pods} (${each.controllerPods})`,
            each.webhook,
            each.reconciliation,
            each.message ?? '',
          ]),
        )}`;
  return known + why + versions + clusters;
}
