/** The manager is killed with `kill -9` wherever a rollout can be seen to be, there and back: the next one goes on. */
import { expect, test } from 'vitest';
import { operatorDeployment } from '../../../../src/api/index.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import { isEnded, type Moments, MortalManager, thereOn, wasValidated, wasValidatedBack } from '../killable-manager.ts';
import type { Show } from '../suite-context.ts';
import { anotherManagement, patient, rollOut, statesOf, untilPhase } from '../testbed.ts';

const operator = 'mortal';
const spec = { strategy: 'Rolling', rollingConfig: { validationPeriod: 'PT1S', pauseBetweenClusters: 'PT0S' } };
const everywhere = (state: string) => ({ dev: state, staging: state, production: state });

/** Every phase, and every state that a cluster is in during it. */
const moments: Moments = ({ phase = 'Planning', plan, clusters = [], rollback }) => [
  ...(plan === undefined ? [`${phase}, unplanned`] : []),
  ...clusters.map(({ state }) => `${phase}: ${state}`),
  // Under way back: before and after each is back.
  ...clusters
    .filter(({ restoredAt }) => rollback !== undefined && restoredAt !== undefined)
    .map(() => `${phase}: restored`),
];

export function killedTests(show: () => Show): void {
  test('a manager that is killed at every phase, there and back: nothing is installed twice, and nothing counts unseen', {
    timeout: 6 * patient.within,
  }, async () => {
    const { stage } = show();
    const { targets } = stage;
    const management = await anotherManagement(stage);
    const { client } = management;
    const manager = new MortalManager(stage, management);
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
      await manager.whileRunning(untilPhase(client, 'mortal-1', 'Completed'));

      await rollOut(client, 'mortal-2', operator, '2.0.0', spec);
      const { done, kills } = await manager.throughKills('mortal-2', { moments, within });
      expect(kills).toEqual(expect.arrayContaining(['Deploying: Deploying', 'Validating: Validating']));
      expect(statesOf(done)).toEqual(everywhere('Healthy'));
      for (const target of targets) {
        const { name } = target;
        expect(await thereOn(target, operator), name).toEqual({ revisions: 2, version: '2.0.0' });
        const status = done.status?.clusters?.find((each) => each.name === name);
        expect(status !== undefined && wasValidated(status, 1_000), JSON.stringify(status)).toBe(true);
      }

      const body = { spec: { rollback: true } };
      await client.patch(operatorDeployment.resource, { name: 'mortal-2' }, { type: 'merge', body });
      const ends = (phase: string | undefined) => isEnded(phase) && phase !== 'Completed';
      const back = await manager.throughKills('mortal-2', { moments, within, ends });
      expect(back.kills).toEqual(expect.arrayContaining(['RollingBack: RollingBack']));
      expect(statesOf(back.done)).toEqual(everywhere('RolledBack'));
      for (const target of targets) {
        const { name } = target;
        expect(await thereOn(target, operator), name).toEqual({ revisions: 3, version: '1.0.0' });
        const status = back.done.status?.clusters?.find((each) => each.name === name);
        expect(status !== undefined && wasValidatedBack(status), JSON.stringify(status)).toBe(true);
      }
      // Whoever was killed last holds nobody up.
      const released = async () => {
        const { metadata } = await client.get(operatorDeployment.resource, { name: 'mortal-2' });
        return (metadata as { finalizers?: string[] }).finalizers === undefined;
      };
      await manager.whileRunning(eventually(released, patient));
    } finally {
      await manager.stop();
      await management.stop();
    }
  });
}
