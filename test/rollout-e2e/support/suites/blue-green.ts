/** Blue-green over three clusters, completed and rolled back, with an admission webhook for the custom resources. */
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Resource, UnknownObject } from '../../../../src/runtime/index.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import { startWebhook, type TestWebhook } from '../../../fleet-health/support/webhook.ts';
import type { OperatorChart } from '../../../support/operator-charts.ts';
import type { Show } from '../suite-context.ts';
import { addWidgets, patient, rollOut, type Stage, statesOf, untilPhase, widgetsOn } from '../testbed.ts';
import { everywhere, expectVersion, timeout } from './strategies.ts';

const name = 'colours';
const [blue, green] = ['colours-blue', 'colours-green'];
const widgets: Resource = {
  group: `${name}.example.com`,
  version: 'v1',
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
};
const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** All writes of custom resources go to its Service; no container runs here that could answer. */
const nobodyAnswers = stringify({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: `${name}-strict` },
  webhooks: [
    {
      name: `strict.${name}.example.com`,
      clientConfig: { service: { name, namespace: '{{ .Release.Namespace }}' } },
      rules: [{ apiGroups: [widgets.group], apiVersions: ['v1'], operations: ['CREATE'], resources: [widgets.plural] }],
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      failurePolicy: 'Fail',
      timeoutSeconds: 1,
    },
  ],
});

export function blueGreenTests(show: () => Show): void {
  test('blue-green: switches to the other namespace, and back if it is unhealthy', { timeout }, async () => {
    const webhook = await startWebhook();
    try {
      await throughVersions(show().stage, webhook);
    } finally {
      await webhook.stop();
    }
  });
}

async function throughVersions(stage: Stage, webhook: TestWebhook): Promise<void> {
  const { client, targets } = stage;
  const chart = (version: string, more: Partial<OperatorChart> = {}): OperatorChart => ({
    name,
    version,
    definitionIn: 'templates',
    conversion: true,
    // Each version answers at its own path.
    webhook: {
      url: `${webhook.url}${version}`,
      authority: webhook.authority.certificate,
      failurePolicy: 'Fail',
      timeoutSeconds: 30,
    },
    ...more,
  });
  await stage.addOperator(
    [
      chart('1.0.0'),
      chart('2.0.0', { maximum: 30 }),
      // Its Pods match no node and never run.
      chart('3.0.0', { maximum: 40, nodeSelector: { nowhere: 'true' } }),
      chart('4.0.0', { maximum: 50, files: { 'templates/strict.yaml': nobodyAnswers } }),
    ],
    // A process that is busy with all other rollouts may respond slowly.
    { health: { webhook: { maxLatency: 'PT20S' } } },
  );
  const times = { validationPeriod: 'PT1S', monitorPeriod: 'PT1S' };
  const spec = { strategy: 'BlueGreen', blueGreenConfig: { blueNamespace: blue, greenNamespace: green, ...times } };
  await rollOut(client, 'colours-1', name, '1.0.0', spec);
  const first = await untilPhase(client, 'colours-1', 'Completed', 'Failed');
  expect(statesOf(first)).toEqual(everywhere('Healthy'));
  const colour = first.status?.clusters?.[0]?.namespace ?? '';
  const other = colour === blue ? green : blue;
  await expectVersion(stage, name, '1.0.0', colour);
  await expectLed(stage, webhook, '1.0.0', colour);
  const [dev] = targets;
  if (dev === undefined) throw new Error('cluster not found');
  await addWidgets(dev, name, 20);
  const before = await widgetsOn(dev, name);

  await rollOut(client, 'colours-2', name, '2.0.0', spec);
  expect(statesOf(await untilPhase(client, 'colours-2', 'Completed', 'Failed'))).toEqual(everywhere('Healthy'));
  await expectVersion(stage, name, '2.0.0', other);
  await expectLed(stage, webhook, '2.0.0', other);
  // The old side is kept with 0 replicas.
  await expectVersion(stage, name, undefined, colour);

  await rollOut(client, 'colours-3', name, '3.0.0', { ...spec, helmTimeout: 'PT5S' });
  const failed = await untilPhase(client, 'colours-3', 'Failed', 'Completed');
  expect(Object.values(statesOf(failed))).not.toContain('Healthy');
  await expectVersion(stage, name, '2.0.0', other);
  await expectLed(stage, webhook, '2.0.0', other);

  await rollOut(client, 'colours-4', name, '4.0.0', spec);
  const refused = await untilPhase(client, 'colours-4', 'Failed', 'Completed');
  expect(statesOf(refused)).toEqual(everywhere('RolledBack'));
  expect(refused.status?.rollback?.message).toContain(`strict.${name}.example.com`);
  await expectVersion(stage, name, '2.0.0', other);
  await expectLed(stage, webhook, '2.0.0', other);
  expect(await widgetsOn(dev, name)).toEqual(before);
}

/** Writes of custom resources are admitted by this version only, and so are reads in another version. */
async function expectLed(
  { targets }: Stage,
  { asked }: TestWebhook,
  version: string,
  namespace: string,
): Promise<void> {
  for (const { client, name: cluster } of targets) {
    const object: UnknownObject = {
      apiVersion: `${widgets.group}/v1`,
      kind: widgets.kind,
      metadata: { name: 'tried', namespace: 'default' },
    };
    const begun = asked.length;
    await eventually(async () => {
      await client.create(widgets, object, { dryRun: true });
      expect(asked.at(-1)?.path, cluster).toBe(`/${version}`);
    }, patient);
    expect(asked.length).toBeGreaterThan(begun);
    const { spec } = await client.get<UnknownObject>(definitions, { name: `widgets.${widgets.group}` });
    expect(spec, cluster).toMatchObject({ conversion: { webhook: { clientConfig: { service: { namespace } } } } });
  }
}
