/**
 * `kidp cost`: what teams have to pay for in a month, as brokers have reported it, for chargeback.
 *
 * Exit codes: 0 answered; 2 bad input.
 */
import {
  type CostConfigMap,
  type CostRow,
  costRows,
  MONTH_LABEL,
  readSettled,
  settledSelector,
  sumOfAmounts,
} from '../../reconcile/index.ts';
import { type Client, eachObject, type Resource } from '../../runtime/index.ts';
import { withClient } from '../common/client.ts';
import { InputError } from '../common/failure.ts';
import type { Streams } from '../common/streams.ts';
import { objectsInCluster, teamNamed } from '../graph/objects.ts';
import { asCsv, asTable, type CostReport } from './render.ts';

export interface CostOptions {
  readonly team?: string;
  readonly month?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace: string;
  readonly output: keyof typeof formats;
}

const configMaps: Resource = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };

const formats = {
  table: asTable,
  csv: asCsv,
  json: (report: CostReport) => `${JSON.stringify(report, null, 2)}\n`,
};

export async function cost(options: CostOptions, streams: Streams): Promise<number> {
  const month = options.month ?? new Date().toISOString().slice(0, 7);
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) {
    throw new InputError('option', `--month "${month}" is not a month: want 2026-01.`);
  }
  const { kubeconfig, context } = options;
  const where = {
    ...(kubeconfig === undefined ? {} : { file: kubeconfig }),
    ...(context === undefined ? {} : { context }),
  };
  const report = await withClient(where, (client) => reportOf(client, month, options, streams));
  streams.out.write(formats[options.output](report));
  return 0;
}

async function reportOf(
  client: Client,
  month: string,
  { team, namespace }: CostOptions,
  streams: Streams,
): Promise<CostReport> {
  const objects = await objectsInCluster(client);
  const payer = team === undefined ? undefined : teamNamed(team, objects).spec.namespace;
  const settled: CostConfigMap[] = [];
  const labelSelector = `${settledSelector},${MONTH_LABEL}=${month}`;
  await eachObject(client, configMaps, { namespace, labelSelector }, (map) =>
    settled.push(map as unknown as CostConfigMap),
  );
  const damaged = (map: CostConfigMap) => (key: string) =>
    streams.err.write(`kidp: ConfigMap ${namespace}/${map.metadata.name}: skipped unreadable entry ${key}.\n`);
  const rows = costRows(
    objects,
    settled.flatMap((map) => readSettled(map, damaged(map))),
  ).filter((row) => row.month === month && (payer === undefined || row.team === payer));
  return { month, ...(payer === undefined ? {} : { team: payer }), rows, totals: totalsOf(rows) };
}

function totalsOf(rows: readonly CostRow[]): CostReport['totals'] {
  const groups = Map.groupBy(rows, ({ team, currency }) => JSON.stringify([team, currency]));
  return [...groups].map(([key, parts]) => {
    const [team, currency] = JSON.parse(key) as [string, string];
    return { team, currency, amount: sumOfAmounts(parts.map(({ amount }) => amount)) };
  });
}
