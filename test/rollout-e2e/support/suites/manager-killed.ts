/** The manager is killed with `kill -9` in every phase of a rollout and of its rollback: the next process continues. */
import { expect, test } from 'vitest';
import { operatorDeployment } from '../../../../src/api/index.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import {
  installedOn,
  isEnded,
  KillableManager,
  type Moments,
  wasValidated,
  wasValidatedAfterRollback,
} from '../killable-manager.ts';
import type { Show } from '../suite-context.ts';
import { anotherManagement, patient, rollOut, statesOf, untilPhase } from '../testbed.ts';

const operator = 'mortal';
const spec = { strategy: 'Rolling', rollingConfig: { validationPeriod: 'PT1S', pauseBetweenClusters: 'PT0S' } };
const everywhere = (state: string) => ({ dev: state, staging: state, production: state });

/** Every phase, and every state of a cluster in that phase. */
const moments: Moments = ({ phase = 'Planning', plan, clusters = [], rollback }) => [
  ...(plan === undefined ? [`${phase}, unplanned`] : []),
  ...clusters.map(({ state }) => `${phase}: ${state}`),
  // During a rollback: before and after each cluster is restored.
  ...clusters
    .filter(({ restoredAt }) => rollback !== undefined && restoredAt !== undefined)
    .map(() => `${phase}: restored`),
];

export function killedTests(show: () => Show): void {
  test('a manager killed in every phase of a rollout and its rollback installs nothing twice and promotes nothing unchecked', {
    timeout: 6 * patient.within,
  }, async () => {
    const { stage } = show();
    const { targets } = stage;
    const management = await anotherManagement(stage);
    const { client } = management;
    const manager = new KillableManager(stage, management);
    const within = 4 * patient.within;
    try {
      await stage.addOperator(
        [
          { name: operator, version: '1.0.0' },
          { name: operator, version: '2.0.0', maximum: 30 },
        ],
        {},
        client,
      );
      await rollOut(client, 'mortal-1', operator, '1.0.0', { strategy: 'Direct' });
      await manager.whileRunning(
        untilPhase(client, 'mortal-1', 'Completed'),
        'OperatorDeployment mortal-1 to complete',
      );

      await rollOut(client, 'mortal-2', operator, '2.0.0', spec);
      const { done, kills } = await manager.killUntilEnded('mortal-2', { moments, within });
      expect(kills).toEqual(expect.arrayContaining(['Deploying: Deploying', 'Validating: Validating']));
      expect(statesOf(done)).toEqual(everywhere('Healthy'));
      for (const target of targets) {
        const { name } = target;
        expect(await installedOn(target, operator), name).toEqual({ revisions: 2, version: '2.0.0' });
        const status = done.status?.clusters?.find((each) => each.name === name);
        expect(status !== undefined && wasValidated(status, 1_000), JSON.stringify(status)).toBe(true);
      }

      const body = { spec: { rollback: true } };
      await client.patch(operatorDeployment.resource, { name: 'mortal-2' }, { type: 'merge', body });
      const ends = (phase: string | undefined) => isEnded(phase) && phase !== 'Completed';
      const back = await manager.killUntilEnded('mortal-2', { moments, within, ends });
      expect(back.kills).toEqual(expect.arrayContaining(['RollingBack: RollingBack']));
      expect(statesOf(back.done)).toEqual(everywhere('RolledBack'));
      for (const target of targets) {
        const { name } = target;
        expect(await installedOn(target, operator), name).toEqual({ revisions: 3, version: '1.0.0' });
        const status = back.done.status?.clusters?.find((each) => each.name === name);
        expect(status !== undefined && wasValidatedAfterRollback(status), JSON.stringify(status)).toBe(true);
      }
      // The manager that was killed last has left nothing that blocks the deletion.
      const isReleased = async () => {
        const { metadata } = await client.get(operatorDeployment.resource, { name: 'mortal-2' });
        return (metadata as { finalizers?: string[] }).finalizers === undefined;
      };
      await manager.whileRunning(eventually(isReleased, patient), 'the finalizer of mortal-2 to be removed');
    } finally {
      await manager.stop();
      await management.stop();
    }
  });
}
