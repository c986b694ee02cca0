/** Rounds of health on a real API server, which is the management cluster and the one that operators are on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  API_VERSION,
  type Cluster,
  cluster,
  crdFor,
  installationLabels,
  installationName,
  type Operator,
  type OperatorDeployment,
  type OperatorInstallation,
  operator,
  operatorDeployment,
  operatorInstallation,
} from '../../src/api/index.ts';
import { type Fleet, FleetError, healthChecker, type Snapshot } from '../../src/fleet/index.ts';
import { addOperatorHealth, DEGRADED, type HealthRounds } from '../../src/reconcile/index.ts';
import {
  type Client,
  type Condition,
  connect,
  type EventInput,
  getCondition,
  loadKubeconfig,
  Manager,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type ControlPlane, startControlPlane } from '../support/cluster.ts';
import {
  apply,
  applyDefinition,
  connectionOf,
  definitionOf,
  definitions,
  type Parts,
  patient,
  putWidget,
  snapshotOf,
  widgetsOf,
} from './support/setup.ts';

const parts: Parts = { namespace: 'default', group: 'rounds.test' };
const near = installationName('widgets', 'near');
const far = installationName('widgets', 'far');
const recorded: EventInput[] = [];
const stop = new AbortController();
let plane: ControlPlane;
let client: Client;
let rounds: HealthRounds;
let running: Promise<void>;

const fleet: Pick<Fleet, 'connect'> = {
  connect: async (name) => {
    if (name === 'far') throw new FleetError('cluster/unreachable', 'far does not answer', { temporary: true });
    return connectionOf(client, name);
  },
};
const snapshots = {
  get: async (name: string): Promise<Snapshot> => {
    if (name !== 'snapshot-1') throw new FleetError('snapshot/missing', `there is no ${name}`);
    return snapshotOf(parts, [], [definitionOf(parts)]);
  },
};

const installation = (name: string) => client.get<OperatorInstallation>(operatorInstallation.resource, { name });
const round = () => rounds.round(stop.signal);
const degraded = async () => {
  const { status } = await client.get<OperatorDeployment>(operatorDeployment.resource, { name: 'rollout' });
  return getCondition(status?.conditions as Condition[] | undefined, DEGRADED);
};

async function install(on: string, snapshot = 'snapshot-1'): Promise<void> {
  await apply(client, cluster.resource, {
    apiVersion: API_VERSION,
    kind: 'Cluster',
    metadata: { name: on },
    spec: { environment: 'Dev', credentials: {} },
  } as Cluster);
  await apply(client, operatorInstallation.resource, {
    apiVersion: API_VERSION,
    kind: 'OperatorInstallation',
    metadata: { name: installationName('widgets', on), labels: installationLabels('widgets', on) },
    spec: {
      operator: 'widgets',
      cluster: on,
      version: '1.0.0',
      snapshot,
      namespace: 'default',
      releaseName: 'widgets',
      revision: 1,
      ...(on === 'near' ? { deployment: 'rollout' } : {}),
    },
  } as unknown as OperatorInstallation);
}

beforeAll(async () => {
  plane = await startControlPlane();
  client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  for (const kind of [operator, cluster, operatorDeployment, operatorInstallation]) {
    await client.apply(definitions, crdFor(kind), { fieldManager: 'test' });
    await eventually(() => client.list(kind.resource), patient);
  }
  await applyDefinition(client, parts);
  for (let number = 1; number <= 8; number += 1) await putWidget(client, parts, `widget-${number}`);
  await apply(client, operator.resource, {
    apiVersion: API_VERSION,
    kind: 'Operator',
    metadata: { name: 'widgets' },
    spec: { chart: { path: 'widgets' } },
  } as unknown as Operator);
  await apply(client, operatorDeployment.resource, {
    apiVersion: API_VERSION,
    kind: 'OperatorDeployment',
    metadata: { name: 'rollout' },
    spec: { operator: 'widgets', version: '1.0.0', clusters: ['near'], strategy: 'Direct' },
  } as unknown as OperatorDeployment);
  const clusters = [{ name: 'near', environment: 'Dev', stage: 1, state: 'Healthy', snapshot: 'snapshot-1' }];
  await client.patch(
    operatorDeployment.resource,
    { name: 'rollout' },
    { type: 'merge', body: { status: { phase: 'Completed', finishedAt: new Date().toISOString(), clusters } } },
    { subresource: 'status' },
  );
  await install('near');
  await install('far');
  const manager = new Manager({ client });
  rounds = addOperatorHealth(manager, {
    fleet,
    health: healthChecker(),
    snapshots,
    recorder: { record: (input) => void recorded.push(input) },
    // The test asks for each round itself.
    intervalMilliseconds: 3_600_000,
    settleMilliseconds: 0,
    watchFrom: 5,
    requestMilliseconds: 60_000,
  });
  running = manager.start(stop.signal);
  running.catch(() => {});
  await eventually(async () => (await installation(near)).status?.health !== undefined, patient);
});

afterAll(async () => {
  stop.abort();
  await running;
  await client.close();
  await plane.stop();
});

describe('rounds', () => {
  it('write the health of an installation, count it in its Operator, and record when the cluster was checked', async () => {
    const { status } = await installation(near);
    expect(status).toMatchObject({
      health: 'Healthy',
      phase: 'ready',
      failuresInRow: 0,
      reconciliation: { state: 'Healthy' },
      pods: { state: 'NotChecked' },
    });
    await eventually(async () => {
      const object = await client.get<Operator>(operator.resource, { name: 'widgets' });
      expect(object.status).toMatchObject({ installations: 2, healthyInstallations: 1 });
    }, patient);
    await eventually(async () => {
      const object = await client.get<Cluster>(cluster.resource, { name: 'near' });
      return object.status?.operatorsCheckedTime !== undefined;
    }, patient);
  });

  it('say that nothing is known of a cluster that does not answer, and hold up no other', async () => {
    await eventually(async () => {
      expect((await installation(far)).status).toMatchObject({ health: 'Unknown', failuresInRow: 0 });
    }, patient);
    expect((await client.get<Cluster>(cluster.resource, { name: 'far' })).status?.operatorsCheckedTime).toBeUndefined();
  });

  it('write nothing where nothing has changed', async () => {
    const before = await installation(near);
    await round();
    expect((await installation(near)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it('watch what there is much of, and see through the watch what changes', async () => {
    await eventually(async () => {
      await round();
      return rounds.watches.taken === 1;
    }, patient);
    await putWidget(client, parts, 'widget-1', { ready: false });
    await eventually(async () => {
      await round();
      return (await installation(near)).status?.health === 'Unhealthy';
    }, patient);
    await eventually(() => recorded.some(({ reason }) => reason === 'OperatorUnhealthy'), patient);
  });

  it('count failures in a row, and call a deployment degraded that was completed', async () => {
    await eventually(async () => {
      await round();
      return (await installation(near)).status?.failuresInRow === 3;
    }, patient);
    await eventually(async () => {
      expect(await degraded()).toMatchObject({ status: 'True', message: expect.stringContaining('near') });
    }, patient);
    // More of them are the same news.
    const before = await installation(near);
    await round();
    expect((await installation(near)).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it('detect when it is healthy again', async () => {
    await putWidget(client, parts, 'widget-1');
    await eventually(async () => {
      await round();
      expect((await installation(near)).status).toMatchObject({ health: 'Healthy', failuresInRow: 0 });
    }, patient);
    await eventually(async () => {
      expect(await degraded()).toMatchObject({ status: 'False' });
    }, patient);
    await eventually(() => recorded.some(({ reason }) => reason === 'OperatorHealthy'), patient);
  });

  it('do not take what is not kept any more for a failure', async () => {
    await install('near', 'snapshot-2');
    await eventually(async () => {
      await round();
      expect((await installation(near)).status).toMatchObject({ health: 'Unknown', failuresInRow: 0 });
    }, patient);
  });

  it('end the watches of what is gone', async () => {
    await client.delete(operatorInstallation.resource, { name: near });
    await eventually(async () => {
      await round();
      return rounds.watches.taken === 0;
    }, patient);
    expect((await client.list(widgetsOf(parts))).items).toHaveLength(8);
  });
});
