/** `kidp clusters list` and `status`. */
import {
  type Cluster,
  cluster as clusterKind,
  environments,
  type OperatorInstallation,
  operatorInstallation,
} from '../../api/index.ts';
import { type Condition, getCondition, isNotFound } from '../../runtime/index.ts';
import { liveReader, plainLine } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';
import { facts, print, table, withManagement } from '../common/management.ts';
import type { Streams } from '../common/streams.ts';
import type { ListFlags } from './options.ts';

export async function listClusters(flags: ListFlags, streams: Streams): Promise<number> {
  const all = await withManagement(flags, (client) => liveReader(client).list<Cluster>(clusterKind.resource));
  const shown = all
    .filter(({ spec }) => flags.environment === undefined || spec.environment === flags.environment)
    .sort(byEnvironment)
    .map(rowOf);
  const text = () =>
    shown.length === 0
      ? 'there are no clusters; add one with `kidp clusters add`\n'
      : table(
          ['NAME', 'ENVIRONMENT', 'HEALTH', 'VERSION', 'CHECKED', 'REASON'],
          shown.map((row) => [
            row.name,
            row.environment,
            row.paused ? `${row.health} (paused)` : row.health,
            row.kubernetesVersion ?? '-',
            row.lastChecked ?? '-',
            row.ready ? '' : row.reason,
          ]),
        );
  print(shown, text, flags, streams);
  return 0;
}

export async function clusterStatus(name: string, flags: ListFlags, streams: Streams): Promise<number> {
  const { cluster, installations } = await withManagement(flags, async (client) => {
    const found = await client.get<Cluster>(clusterKind.resource, { name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      throw new InputError('cluster', `there is no Cluster ${name}; see \`kidp clusters list\`.`);
    });
    const all = await liveReader(client).list<OperatorInstallation>(operatorInstallation.resource);
    return { cluster: found, installations: all.filter(({ spec }) => spec.cluster === name) };
  });
  const row = rowOf(cluster);
  const operators = installations.map(({ spec, status }) => ({
    operator: spec.operator,
    version: spec.version,
    health: status?.health ?? 'Unknown',
  }));
  const { latencyMilliseconds, failures = 0, sealedWith } = cluster.status ?? {};
  const text = () => {
    const known = facts([
      ['Name', name],
      ['Environment', row.environment],
      ['Health', row.paused ? `${row.health} (paused: nothing new is rolled out to it)` : row.health],
      ['Kubernetes', row.kubernetesVersion],
      ['Checked', row.lastChecked],
      ['Answered in', latencyMilliseconds === undefined ? undefined : `${latencyMilliseconds} ms`],
      ['Failed in a row', failures === 0 ? undefined : String(failures)],
      ['Sealed with', sealedWith],
      ['Contact', cluster.spec.contact],
      ['Being removed', cluster.metadata.deletionTimestamp],
    ]);
    const why = row.ready ? '' : `\n${plainLine(row.message === '' ? row.reason : row.message)}\n`;
    const rows = operators.map(({ operator, version, health }) => [operator, version, health]);
    return known + why + (rows.length === 0 ? '' : `\n${table(['OPERATOR', 'VERSION', 'HEALTH'], rows)}`);
  };
  print({ ...row, operators }, text, flags, streams);
  return row.ready ? 0 : 1;
}

/** The printed fields of a Cluster, without the reference to its credentials. */
function rowOf({ metadata, spec, status }: Cluster) {
  const ready = getCondition(status?.conditions as Condition[] | undefined, 'Ready');
  return {
    name: metadata.name,
    environment: spec.environment,
    health: status?.health ?? 'Unknown',
    paused: spec.paused ?? false,
    ready: ready?.status === 'True',
    reason: ready?.reason ?? 'NotReconciled',
    message: ready?.message ?? 'The platform has not reconciled it yet',
    kubernetesVersion: status?.kubernetesVersion,
    lastChecked: status?.lastCheckedTime,
  };
}

const byEnvironment = (one: Cluster, other: Cluster): number =>
  environments.indexOf(one.spec.environment) - environments.indexOf(other.spec.environment) ||
  (one.metadata.name < other.metadata.name ? -1 : 1);
