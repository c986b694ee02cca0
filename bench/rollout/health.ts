/**
 * How long it takes to look at an operator on a cluster, part by part: pods, a webhook that is asked through the API
 * server of the cluster, and custom resources. Nothing is in memory before: each look reads all of it from a real API
 * server, as the first one does.
 */
import {
  installationName,
  type Operator,
  type OperatorInstallation,
  operatorInstallation,
  operator as operatorKind,
} from '../../src/api/index.ts';
import { healthChecker, openFleet, openSnapshotStore } from '../../src/fleet/index.ts';
import { silentLogger } from '../../src/runtime/index.ts';
import { startWebhook } from '../../test/fleet-health/support/webhook.ts';
import { addWidgets } from '../../test/rollout-e2e/support/testbed.ts';
import { type Figure, inParallel, percentile, say } from './figures.ts';
import { rollOut } from './rollouts.ts';
import { ownConnections, type Stage, systemNamespace } from './stage.ts';

const name = 'watched';
const customResources = 500;
/** On each cluster. */
const looks = 20;

/** Milliseconds at p50, p95 and p99 (docs/requirements.md, 002, Health Check Performance). */
const targets = {
  pods: { what: 'pod health check', bounds: [100, 300, 500] },
  webhook: { what: 'webhook health check', bounds: [200, 500, 1000] },
  reconciliation: { what: `CRD reconciliation check, ${customResources} custom resources`, bounds: [500, 1000, 2000] },
  whole: { what: 'full operator health', bounds: [1000, 2000, 3000] },
} as const;
type Part = keyof typeof targets;
const parts = Object.keys(targets) as Part[];

export async function healthOfAnOperator(stage: Stage): Promise<Figure[]> {
  const { client } = stage;
  const webhook = await startWebhook();
  // Of this program, beside that of the platform.
  const connections = { short: ownConnections, watch: 1 };
  const fleet = openFleet({ client, systemNamespace, keys: stage.keys, connections, log: silentLogger });
  try {
    const charts = [
      { name, version: '1.0.0', webhook: { url: webhook.url, authority: webhook.authority.certificate } },
    ];
    await stage.addOperator(charts);
    const clusters = stage.targets.map((target) => target.name);
    await rollOut(client, name, { operator: name, version: '1.0.0', clusters, strategy: 'Direct' });
    for (const target of stage.targets) await addWidgets(target, name, customResources);
    const took: Record<Part, number[]> = { pods: [], webhook: [], reconciliation: [], whole: [] };
    const operator = await client.get<Operator>(operatorKind.resource, { name });
    const snapshots = openSnapshotStore({ client, namespace: systemNamespace });
    const round = Array.from({ length: looks }, () => clusters).flat();
    await inParallel(round, 2, async (cluster) => {
      const key = { name: installationName(name, cluster) };
      const { spec } = await client.get<OperatorInstallation>(operatorInstallation.resource, key);
      const connection = await fleet.connect(cluster, { kind: 'observe' }, { operator: name });
      const snapshot = await snapshots.get(spec.snapshot);
      const report = await healthChecker().check(connection, { operator, snapshot, revision: spec.revision }, {});
      if (report.state !== 'Healthy') throw new Error(`${name} on ${cluster} is ${report.state}: ${report.message}`);
      for (const part of ['pods', 'webhook', 'reconciliation'] as const) took[part].push(report[part].milliseconds);
      took.whole.push(report.milliseconds);
    });
    say(`health of one operator: ${round.length} looks, ${webhook.asked.length} dry runs reached its webhook`);
    return parts.flatMap((part) =>
      ([0.5, 0.95, 0.99] as const).map((share, index) => ({
        table: 'Health check performance',
        what: `${targets[part].what}, p${share * 100}`,
        value: percentile(took[part], share),
        unit: 'ms',
        target: ['<', targets[part].bounds[index] ?? 0] as const,
      })),
    );
  } finally {
    await fleet.stop();
    await webhook.stop();
  }
}
