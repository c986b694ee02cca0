/** A cluster that becomes unreachable during a Helm operation, and one whose Secret was tampered with. */
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { type OperatorDeployment, operatorDeployment, SEALED_KUBECONFIG_KEY } from '../../../../src/api/index.ts';
import type { Client, UnknownObject } from '../../../../src/runtime/index.ts';
import { coreSecrets } from '../../../../src/runtime/internal.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import { untilReady } from '../cluster-ready.ts';
import type { FarCluster } from '../proxied-cluster.ts';
import type { Show } from '../suite-context.ts';
import { patient, rollOut, statesOf, type Target, untilPhase, versionOn } from '../testbed.ts';
import { systemNamespace } from '../timing.ts';

const operator = 'distant';
const namespace = `${operator}-system`;

export function reachTests(show: () => Show): void {
  test('an unreachable cluster blocks no other and is finished later; one with a tampered Secret is skipped', {
    timeout: 5 * patient.within,
  }, async () => {
    const { stage, far } = show();
    const { client } = stage;
    await stage.addOperator([
      { name: operator, version: '1.0.0' },
      { name: operator, version: '2.0.0', maximum: 30 },
    ]);
    await untilReady(client, far.name, 'True');
    // Helm has started, and no object of the chart exists yet.
    const isCut = far.cutAfter(({ method, path }) => method === 'POST' && path.includes(`/${namespace}/secrets`));
    const clusters = [far.name, 'staging'];
    const spec = { clusters, strategy: 'Direct', directConfig: { parallelClusters: 1 } };
    await rollOut(client, 'distant-1', operator, '1.0.0', spec);
    await isCut;
    const without = await eventually(async () => {
      const found = await client.get<OperatorDeployment>(operatorDeployment.resource, { name: 'distant-1' });
      if (statesOf(found).staging !== 'Healthy') throw new Error(JSON.stringify(found.status));
      return found;
    }, patient);
    expect(statesOf(without)).toEqual({ [far.name]: 'Deploying', staging: 'Healthy' });
    const [first, second] = clusters.map((name) => without.status?.clusters?.find((each) => each.name === name));
    // There is one slot, and this rollout took it first.
    expect(Date.parse(second?.startedAt ?? '')).toBeGreaterThan(Date.parse(first?.startedAt ?? ''));
    far.restore();
    const done = await untilPhase(client, 'distant-1', 'Completed', 'Failed');
    expect(statesOf(done)).toEqual({ [far.name]: 'Healthy', staging: 'Healthy' });
    expect(await versionOn(far.target, operator, namespace)).toBe('1.0.0');
    expect(await installedOn(far.target)).toBe(1);
    // The rollout continues as soon as the cluster responds, which may be before the Cluster status reports it.
    await untilReady(client, far.name, 'True');

    const own = await sealedFor(client, far.name);
    for (const { what, sealed } of tampered(own, await sealedFor(client, 'dev'))) {
      await seal(client, far.name, sealed);
      const { message } = await untilReady(client, far.name, 'False');
      expect(message, what).toMatch(/cluster\/tampered|seal/);
      const asked = far.seen.length;
      await rollOut(client, `distant-${what}`, operator, '2.0.0', {
        clusters: [far.name],
        strategy: 'Direct',
        progressDeadline: 'PT2S',
      });
      const { status } = await untilPhase(client, `distant-${what}`, 'Failed', 'Completed');
      expect(status, what).toMatchObject({ phase: 'Failed', clusters: [{ state: 'Skipped' }] });
      expect(changesSince(far, asked), what).toEqual([]);
      await seal(client, far.name, own);
      await untilReady(client, far.name, 'True');
    }
    expect(await versionOn(far.target, operator, namespace)).toBe('1.0.0');
    expect(await installedOn(far.target)).toBe(1);
  });
}

const tampered = (own: string, other: string) => {
  const at = Math.floor(own.length / 2);
  const flipped = `${own.slice(0, at)}${own[at] === 'A' ? 'B' : 'A'}${own.slice(at + 1)}`;
  return [
    { what: 'flipped', sealed: flipped },
    { what: 'swapped', sealed: other },
  ];
};

const secretOf = (cluster: string) => ({ namespace: systemNamespace, name: `cluster-${cluster}` });

async function sealedFor(client: Client, cluster: string): Promise<string> {
  const { data } = (await client.get(coreSecrets, secretOf(cluster))) as { data?: Record<string, string> };
  return Buffer.from(data?.[SEALED_KUBECONFIG_KEY] ?? '', 'base64').toString('utf8');
}

async function seal(client: Client, cluster: string, sealed: string): Promise<void> {
  const data = { [SEALED_KUBECONFIG_KEY]: Buffer.from(sealed).toString('base64') };
  await client.patch(coreSecrets, secretOf(cluster), { type: 'merge', body: { data } });
}

/**
 * The number of finished Helm operations. The interrupted revision exists too: it was marked as failed, and Helm calls
 * it superseded after the next one.
 */
async function installedOn({ client }: Target): Promise<number> {
  const labelSelector = `owner=helm,name=${operator},status in (deployed,superseded)`;
  const { items } = await client.list<UnknownObject>(coreSecrets, { namespace, labelSelector });
  return items.filter(({ data }) => !descriptionOf(data as { release: string }).startsWith('Interrupted')).length;
}

/** Helm compresses the value that Kubernetes encodes once more. */
function descriptionOf({ release }: { readonly release: string }): string {
  const packed = Buffer.from(Buffer.from(release, 'base64').toString('latin1'), 'base64');
  return (JSON.parse(gunzipSync(packed).toString('utf8')) as { info: { description: string } }).info.description;
}

/** Some read-only requests use POST. */
const changesSince = ({ seen }: FarCluster, first: number): string[] =>
  seen
    .slice(first)
    .filter(
      ({ method, path }) =>
        method !== 'GET' && !path.includes('dryRun=All') && !/reviews(\?|$)|\/token(\?|$)/.test(path),
    )
    .map(({ method, path }) => `${method} ${path}`);
