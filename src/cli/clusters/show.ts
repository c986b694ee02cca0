/** `kidp clusters list` and `status`. */
import {
  type Cluster,
  cluster as clusterKind,
  environments,
  type OperatorInstallation,
  operatorInstallation,
} from '../../api/index.ts';
import { type Condition, getCondition, isNotFound, liveReader } from '../../runtime/index.ts';
import type { Streams } from '../check.ts';
import { InputError } from '../failure.ts';
import { type ListFlags, withManagement } from './options.ts';

export async function listClusters(flags: ListFlags, streams: Streams): Promise<number> {
  const all = await withManagement(flags, (client) => liveReader(client).list<Cluster>(clusterKind.resource));
  const shown = all
    .filter(({ spec }) => flags.environment === undefined || spec.environment === flags.environment)
    .sort(byEnvironment)
    .map(rowOf);
  if (flags.output === 'json') streams.out.write(`${JSON.stringify(shown, null, 2)}\n`);
  else if (shown.length === 0) streams.out.write('there are no clusters; add one with `kidp clusters add`\n');
  else {
    streams.out.write(
      table(
        ['NAME', 'ENVIRONMENT', 'HEALTH', 'VERSION', 'CHECKED', 'REASON'],
        shown.map((row) => [
          row.name,
          row.environment,
          row.paused ? `${row.health} (paused)` : row.health,
          row.kubernetesVersion ?? '-',
          row.lastChecked ?? '-',
          row.ready ? '' : row.reason,
        ]),
      ),
    );
  }
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
  if (flags.output === 'json') {
    streams.out.write(`${JSON.stringify({ ...row, operators }, null, 2)}\n`);
    return row.ready ? 0 : 1;
  }
  const { latencyMilliseconds, failures = 0, sealedWith } = cluster.status ?? {};
  const facts: [string, string | undefined][] = [
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
  ];
  const lines = facts.flatMap(([label, value]) => (value === undefined ? [] : [`${label.padEnd(16)} ${value}`]));
  if (!row.ready) lines.push('', row.message === '' ? row.reason : row.message);
  streams.out.write(`${lines.join('\n')}\n`);
  if (operators.length > 0) {
    const rows = operators.map(({ operator, version, health }) => [operator, version, health]);
    streams.out.write(`\n${table(['OPERATOR', 'VERSION', 'HEALTH'], rows)}`);
  }
  return row.ready ? 0 : 1;
}

/** What is told of a Cluster: never where its credentials are. */
function rowOf({ metadata, spec, status }: Cluster) {
  const ready = getCondition(status?.conditions as Condition[] | undefined, 'Ready');
  return {
    name: metadata.name,
    environment: spec.environment,
    health: status?.health ?? 'Unknown',
    paused: spec.paused ?? false,
    ready: ready?.status === 'True',
    reason: ready?.reason ?? 'NotLookedAtYet',
    message: ready?.message ?? 'The platform has not looked at it yet',
    kubernetesVersion: status?.kubernetesVersion,
    lastChecked: status?.lastCheckedTime,
  };
}

const byEnvironment = (one: Cluster, other: Cluster): number =>
  environments.indexOf(one.spec.environment) - environments.indexOf(other.spec.environment) ||
  (one.metadata.name < other.metadata.name ? -1 : 1);

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, column) => Math.max(head.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [heads, ...rows]
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
