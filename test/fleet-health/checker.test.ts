/** Health on a real cluster: real Deployments with KWOK's pods, a real webhook, real custom resources. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HealthReport, type HealthTarget, healthChecker, type Snapshot } from '../../src/fleet/index.ts';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import {
  apply,
  applyDefinition,
  connectionOf,
  definitionOf,
  definitions,
  deploymentOf,
  deployments,
  type Parts,
  patient,
  putWidget,
  snapshotOf,
  targetOf,
  webhookConfigurations,
  webhookOf,
  widgetsOf,
} from './support/setup.ts';
import { expiredAuthority, expiredLeafOf, leafOf, startWebhook, type TestWebhook } from './support/webhook.ts';

const shared = sharedCluster();
const checker = healthChecker();
let client: Client;
let webhook: TestWebhook;
let parts: Parts;
/** The current state, replaced by the tests that change it. */
let snapshot: Snapshot;

const check = (target: HealthTarget): Promise<HealthReport> => checker.check(connectionOf(client), target, {});
const untilIt = (target: HealthTarget, holds: (report: HealthReport) => boolean): Promise<HealthReport> =>
  eventually(async () => {
    const report = await check(target);
    if (!holds(report)) throw new Error(JSON.stringify(report));
    return report;
  }, patient);
const isHealthy = ({ state }: HealthReport) => state === 'Healthy';

beforeAll(async () => {
  client = connect(loadKubeconfig({ file: shared.kubeconfig }));
  webhook = await startWebhook();
  parts = { namespace: await shared.uniqueNamespace('health'), group: `${uniqueName('health')}.test` };
  await applyDefinition(client, parts);
  await putWidget(client, parts, 'one');
  const deployment = deploymentOf(parts, 'controller');
  const configuration = webhookOf(parts, webhook.url, webhook.authority.certificate);
  await apply(client, deployments, deployment);
  await apply(client, webhookConfigurations, configuration);
  snapshot = snapshotOf(parts, [deployment, configuration], [definitionOf(parts)]);
});

afterAll(async () => {
  await client.delete(webhookConfigurations, { name: `widgets.${parts.group}` });
  await client.delete(definitions, { name: `widgets.${parts.group}` });
  await client.delete(
    { ...definitions, group: '', plural: 'namespaces', kind: 'Namespace' },
    { name: parts.namespace },
  );
  await webhook.stop();
  await client.close();
});

describe('a healthy operator', () => {
  it('is healthy, and its webhook was asked about an object that was made up and is not there afterwards', async () => {
    const before = webhook.asked.length;
    const report = await untilIt(targetOf(snapshot), isHealthy);
    expect(report).toMatchObject({
      controllerPods: 2,
      pods: { state: 'Healthy' },
      webhook: { state: 'Healthy' },
      reconciliation: { state: 'Healthy' },
    });
    // The API server may learn of a webhook a moment after it was stored.
    await eventually(async () => {
      await check(targetOf(snapshot));
      return webhook.asked.length > before;
    }, patient);
    expect(webhook.asked.at(-1)).toMatchObject({ kind: 'Widget', dryRun: true });
    expect((await client.list(widgetsOf(parts))).items.map(({ metadata }) => metadata.name)).toEqual(['one']);
  });

  it('is not healthy at a revision that is not there, however well it is (argo-cd#29410)', async () => {
    const next = snapshotOf(parts, [deploymentOf(parts, 'controller', { image: 'controller:2' })]);
    const report = await check(targetOf(next));
    expect(report).toMatchObject({ state: 'Unknown', pods: { message: expect.stringContaining('a different image') } });
  });

  it('is healthy at the new revision once all of its pods are new', async () => {
    const deployment = deploymentOf(parts, 'controller', { image: 'controller:2' });
    await apply(client, deployments, deployment);
    snapshot = snapshotOf(parts, [deployment, ...snapshot.manifests.slice(1)], snapshot.definitions);
    const report = await untilIt(targetOf(snapshot), isHealthy);
    expect(report.controllerPods).toBe(2);
  });

  it('stays so where its webhook refuses: a refusal is an answer', async () => {
    webhook.refuse(true);
    const before = webhook.asked.length;
    expect((await check(targetOf(snapshot))).webhook).toMatchObject({ state: 'Healthy' });
    expect(webhook.asked.length).toBeGreaterThan(before);
    webhook.refuse(false);
  });
});

describe('a webhook', () => {
  it('is unhealthy where it takes longer than it may', async () => {
    webhook.answerAfter(5_000);
    const report = await check(targetOf(snapshot, { webhook: { maxLatency: 'PT1S' } }));
    expect(report).toMatchObject({ state: 'Unhealthy', webhook: { state: 'Unhealthy' }, pods: { state: 'Healthy' } });
    expect(report.message).toMatch(/took 1000 ms or longer|a dry run timed out/);
    webhook.answerAfter(0);
  });

  it('is unhealthy where it serves with a certificate that has expired', async () => {
    webhook.present(expiredLeafOf(webhook.authority));
    const report = await untilIt(targetOf(snapshot), ({ state }) => state === 'Unhealthy');
    expect(report.webhook.message).toContain('an expired or not yet valid certificate');
    webhook.present(leafOf(webhook.authority));
    await untilIt(targetOf(snapshot), isHealthy);
  });

  it('is unhealthy where the API server trusts it by a certificate that has expired', async () => {
    const configuration = webhookOf(parts, webhook.url, expiredAuthority().certificate);
    await apply(client, webhookConfigurations, configuration);
    const report = await check(targetOf(snapshot));
    expect(report.webhook).toMatchObject({ state: 'Unhealthy', message: expect.stringContaining('have expired') });
    await apply(client, webhookConfigurations, webhookOf(parts, webhook.url, webhook.authority.certificate));
    await untilIt(targetOf(snapshot), isHealthy);
  });

  it('is unhealthy where nobody is there', async () => {
    const nobody = await startWebhook();
    await nobody.stop();
    await apply(client, webhookConfigurations, webhookOf(parts, nobody.url, nobody.authority.certificate));
    const report = await untilIt(targetOf(snapshot), ({ state }) => state === 'Unhealthy');
    expect(report.webhook.message).toContain('is unreachable for the API server');
    await apply(client, webhookConfigurations, webhookOf(parts, webhook.url, webhook.authority.certificate));
    await untilIt(targetOf(snapshot), isHealthy);
  });
});

describe('custom resources', () => {
  it('are stale where their controller does not take them up for longer than it may', async () => {
    await putWidget(client, parts, 'waiting', { behind: true });
    const reconciliation = { staleAfter: 'PT0.5S' };
    const report = await untilIt(targetOf(snapshot, { reconciliation }), ({ state }) => state === 'Unhealthy');
    expect(report.reconciliation.message).toContain(`Widget ${parts.namespace}/waiting`);
    expect(await check(targetOf(snapshot, { reconciliation: { staleAfter: 'PT1H' } }))).toMatchObject({
      state: 'Healthy',
    });
    await putWidget(client, parts, 'waiting');
  });

  it('are unhealthy where too many of them report an error', async () => {
    await putWidget(client, parts, 'broken', { ready: false });
    const report = await check(targetOf(snapshot, { reconciliation: { maxErrorRate: 0.3 } }));
    expect(report).toMatchObject({ state: 'Unhealthy', reconciliation: { state: 'Unhealthy' } });
    expect(report.message).toContain(`Widget ${parts.namespace}/broken`);
    expect(await check(targetOf(snapshot, { reconciliation: { maxErrorRate: 0.5 } }))).toMatchObject({
      state: 'Healthy',
    });
    await client.delete(widgetsOf(parts), { namespace: parts.namespace, name: 'broken' });
  });
});

describe('pods', () => {
  it('that end again and again are a crash loop, though at times all of them run', async () => {
    const labels = { 'pod-container-running-failed.stage.kwok.x-k8s.io': 'true' };
    const deployment = deploymentOf(parts, 'crashing', { replicas: 1, labels });
    await apply(client, deployments, deployment);
    const target = targetOf(snapshotOf(parts, [deployment]));
    const report = await untilIt(target, ({ message }) => message.includes('restarted 3 times or more'));
    expect(report).toMatchObject({ state: 'Unhealthy', pods: { state: 'Unhealthy' } });
    await client.delete(
      deployments,
      { namespace: parts.namespace, name: 'crashing' },
      { propagationPolicy: 'Background' },
    );
  });

  it('that were scaled to 0 are unhealthy, unless they wait for the switch of a blue-green deployment', async () => {
    const key = { namespace: parts.namespace, name: 'controller' };
    await client.patch(deployments, key, { type: 'merge', body: { spec: { replicas: 0 } } });
    // Its pods go a moment later.
    const report = await untilIt(
      targetOf(snapshot),
      ({ message, controllerPods }) => message.includes('is scaled to 0') && controllerPods === 0,
    );
    expect(report).toMatchObject({ state: 'Unhealthy' });
    expect(await check({ ...targetOf(snapshot), podsOnly: true })).toMatchObject({
      state: 'Healthy',
      webhook: { state: 'NotChecked' },
      reconciliation: { state: 'NotChecked' },
    });
  });
});

it('of a cluster that does not answer, nothing is known', async () => {
  const away = connect({ ...loadKubeconfig({ file: shared.kubeconfig }), server: 'https://127.0.0.1:1' });
  const report = await checker.check(connectionOf(away, 'away'), targetOf(snapshot), {});
  expect(report).toMatchObject({ state: 'Unknown', controllerPods: 0 });
  expect(report.message).toContain('is unreachable');
  await away.close();
});
