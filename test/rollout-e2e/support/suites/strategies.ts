/** Each strategy, completed and rolled back, over three clusters: only the nodes are simulated. */
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { OperatorChart } from '../../../support/operator-charts.ts';
import type { Show } from '../suite-context.ts';
import {
  addWidgets,
  installationOn,
  patient,
  rollOut,
  type Stage,
  statesOf,
  untilPhase,
  versionOn,
  widgetsOn,
} from '../testbed.ts';

/** Each rolls out at least twice over three clusters. */
export const timeout = 3 * patient.within;

export const everywhere = (state: string) => ({ dev: state, staging: state, production: state });

/** The API server rejects this object. It is last, so that everything else is changed by then. */
const refused = stringify({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'refused' },
  webhooks: [{ name: 'refused', clientConfig: { url: 'https://127.0.0.1' }, sideEffects: 'None' }],
});

interface Strategy {
  readonly name: string;
  readonly spec: { readonly strategy: string; readonly canaryConfig?: object; readonly rollingConfig?: object };
  /** The defect of the second version. */
  readonly bad: (show: Show) => Partial<OperatorChart>;
  /** The check that finds it, and its message. */
  readonly by: RegExp;
  readonly why: RegExp;
  /** The clusters that are rolled back. */
  readonly touched: readonly string[];
  readonly objects: number;
}

const crashing = 'pod-container-running-failed.stage.kwok.x-k8s.io';

const strategies: readonly Strategy[] = [
  {
    name: 'direct',
    spec: { strategy: 'Direct' },
    bad: () => ({ files: { 'templates/refused.yaml': refused } }),
    by: /^DeployFailed$/,
    why: /ValidatingWebhookConfiguration/,
    touched: ['dev', 'production', 'staging'],
    objects: 20,
  },
  {
    name: 'rolling',
    spec: { strategy: 'Rolling', rollingConfig: { validationPeriod: 'PT1S', pauseBetweenClusters: 'PT0.5S' } },
    bad: ({ slowWebhook }) => ({ webhook: slowWebhook }),
    by: /^Unhealthy$/,
    why: /webhook widgets\.rolling\.example\.com: a dry run (took 1000 ms or longer|was not answered in time)/,
    touched: ['dev'],
    objects: 20,
  },
  {
    name: 'canary',
    spec: {
      strategy: 'Canary',
      canaryConfig: { initialPercentage: 10, incrementPercentage: 40, evaluationPeriod: 'PT1S' },
    },
    // KWOK simulates Pods with this label as crashing again and again, late enough for Helm to finish.
    bad: () => ({ podLabels: { [crashing]: 'true' }, podAnnotations: { [`${crashing}/delay`]: '3s' } }),
    // It is healthy between two crashes.
    by: /^(Unhealthy|RevalidationFailed)$/,
    why: /^cluster dev: Deployment canary-system\/canary restarted 3 times or more within 5 minutes$/,
    touched: ['dev'],
    objects: 500,
  },
];

export function strategyTests(show: () => Show): void {
  describe.each(strategies)('$name', ({ name, spec, bad, by, why, touched, objects }) => {
    test('completes, then rolls back an unhealthy version and keeps every custom resource', {
      timeout,
    }, async () => {
      const { stage } = show();
      const { client, targets } = stage;
      await stage.addOperator([
        { name, version: '1.0.0' },
        { name, version: '2.0.0', maximum: 30, ...bad(show()) },
      ]);
      await rollOut(client, `${name}-1`, name, '1.0.0', spec);
      const done = await untilPhase(client, `${name}-1`, 'Completed', 'Failed');
      expect(statesOf(done)).toEqual(everywhere('Healthy'));
      await expectVersion(stage, name, '1.0.0');
      for (const target of targets)
        expect((await installationOn(client, name, target.name)).spec).toMatchObject({ version: '1.0.0' });
      const [dev] = targets;
      if (dev === undefined) throw new Error('cluster not found');
      await addWidgets(dev, name, objects);
      const before = await widgetsOn(dev, name);
      expect(before).toHaveLength(objects);

      // Long enough for the third restart of a crashing Pod; the start of the next Pod must not count.
      const canaryConfig = { ...spec.canaryConfig, evaluationPeriod: 'PT5M' };
      const health = { interval: 'PT1S', failureThreshold: 8 };
      const watched = spec.canaryConfig === undefined ? {} : { canaryConfig, health };
      await rollOut(client, `${name}-2`, name, '2.0.0', { ...spec, ...watched });
      const failed = await untilPhase(client, `${name}-2`, 'Failed', 'Completed');
      expect(failed.status?.rollback).toMatchObject({
        reason: expect.stringMatching(by),
        finishedAt: expect.any(String),
        message: expect.stringMatching(why),
      });
      const states = Object.entries(statesOf(failed));
      expect(
        states
          .filter(([, state]) => state === 'RolledBack')
          .map(([cluster]) => cluster)
          .sort(),
      ).toEqual(touched);
      expect(states.map(([, state]) => state)).not.toContain('Healthy');
      await expectVersion(stage, name, '1.0.0');
      expect(await widgetsOn(dev, name)).toEqual(before);
    });
  });
}

export async function expectVersion(
  { targets }: Stage,
  operator: string,
  version: string | undefined,
  namespace = `${operator}-system`,
): Promise<void> {
  for (const target of targets) expect(await versionOn(target, operator, namespace), target.name).toBe(version);
}
