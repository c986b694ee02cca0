/** Several replicas on a real API server: who writes, whom a policy waits for, and what becomes of it when the leader ends. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, connect, isNotFound, loadKubeconfig } from '../../../src/runtime/index.ts';
import { leases } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type PolicyPlane, patient, platformNamespace, policyObject } from './platform.ts';

export function replicaTests(running: () => PolicyPlane): void {
  describe('several replicas', () => {
    let live: PolicyPlane;
    let leaseClient: Client;
    beforeAll(() => {
      live = running();
      leaseClient = connect(loadKubeconfig({ file: live.plane.kubeconfig }));
    });
    afterAll(() => leaseClient?.close());

    /** The failurePolicy is Ignore, so that a gap would be visible. */
    const spec = (expression: string) => ({
      selector: { resourceTypes: ['core/v1/ConfigMap'] },
      failurePolicy: 'Ignore',
      rules: [{ name: 'rule', expression, message: 'Not like this' }],
    });
    const apply = (object: object) => live.kubectl(['apply', '-f', '-'], { input: object });
    const configMap = (name: string) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default' },
    });
    const replicasOf = async (name: string) => Object.keys((await live.status(name))?.replicas ?? {}).sort();

    test('a policy is Ready when every replica has it; when the leader ends, another goes on without a gap; when all have, the next one finds what came in', async () => {
      const shared = live.webhook;
      const start = (identity: string) =>
        live.start({
          identity,
          ...shared,
          reusePort: true,
          certificateSecret: { namespace: platformNamespace, name: 'webhook-certificates' },
          leaderElection: {
            client: leaseClient,
            lease: { namespace: platformNamespace, name: 'kidp' },
            identity,
            leaseDurationMilliseconds: 60_000,
            renewDeadlineMilliseconds: 40_000,
            retryPeriodMilliseconds: 500,
          },
        });
      const one = await start('one');
      const two = await start('two');
      await apply(policyObject('first', spec("object.metadata.name != 'first'")));
      await live.untilReady('first');
      await eventually(async () => (await replicasOf('first')).join() === 'one,two', patient);
      expect((await apply(configMap('first'))).stderr).toContain(
        'policy first, rule rule: metadata.name is "first", want anything but "first". Not like this',
      );

      await one.stop();
      await expect(
        live.client.get(leases, { namespace: platformNamespace, name: 'kidp-replica-one' }),
      ).rejects.toSatisfy(isNotFound);
      expect((await apply(configMap('first'))).stderr).toContain(
        'policy first, rule rule: metadata.name is "first", want anything but "first". Not like this',
      );
      await apply(policyObject('second', spec("object.metadata.name != 'second'")));
      await live.untilReady('second');
      expect(await replicasOf('second')).toEqual(['two']);
      await eventually(async () => (await live.status('second'))?.violations === 0, patient);
      expect((await apply(configMap('second'))).stderr).toContain('policy second');
      await two.stop();

      // Nobody answers now, and what comes in meanwhile is found by the scan of the next leader.
      expect(await apply(configMap('second'))).toMatchObject({ code: 0 });
      expect((await live.status('second'))?.violations).toBe(0);
      const three = await start('three');
      await eventually(async () => (await live.status('second'))?.violations === 1, patient);
      await eventually(async () => (await replicasOf('second')).join() === 'three', patient);
      await three.stop();
    });
  });
}
