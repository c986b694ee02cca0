/**
 * Our image on real nodes, from the chart: admission by two replicas through a Service while replicas restart, a node is drained and a
 * replica is killed; and the kubernetes broker in its own Pod, which reports over HTTP.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { KubernetesObject, Resource } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type RealPlatform, startRealPlatform, teamObjects } from '../support/real-platform.ts';

interface Pod extends KubernetesObject {
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly containerStatuses: readonly { readonly containerID: string }[] };
}

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const apiVersion = 'platform.company.com/v1';
let platform: RealPlatform;

beforeAll(async () => {
  platform = await startRealPlatform({ nodes: 2 });
  await platform.apply({
    apiVersion,
    kind: 'Policy',
    metadata: { name: 'no-secrets-in-config-maps' },
    spec: {
      selector: { resourceTypes: ['core/v1/ConfigMap'], matchLabels: { checked: 'true' } },
      rules: [
        { name: 'password', expression: '!("password" in object.data)', message: 'Use a Secret.', enforcement: 'Deny' },
      ],
    },
  });
  await eventually(async () => expect(await create('probe', { password: 'x' })).toContain('Use a Secret.'));
});
afterAll(() => platform?.stop());

/** Creates a ConfigMap and returns the error, or undefined. */
function create(name: string, data: Record<string, string>): Promise<string | undefined> {
  const metadata = { name, namespace: 'default', labels: { checked: 'true' } };
  return platform.client
    .create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data } as KubernetesObject)
    .then(
      () => undefined,
      (error: Error) => error.message,
    );
}

const replicas = async (): Promise<Pod[]> => {
  const flags = ['--namespace', 'kidp-system', '--selector', 'app.kubernetes.io/name=kidp', '--output', 'json'];
  return JSON.parse(await platform.kubectl('get', 'pods', ...flags)).items;
};

const untilRolledOut = () =>
  platform.kubectl('--namespace', 'kidp-system', 'rollout', 'status', 'deployment/kidp', '--timeout=180s');

let run = 0;
/** Applies objects until `action` has ended and some more, and returns how many there were and which were not admitted, and when. */
async function whileApplying(action: () => Promise<unknown>) {
  const failures: { readonly at: number; readonly message: string }[] = [];
  let ended = false;
  let total = 0;
  const prefix = `applied-${run++}`;
  const apply = async () => {
    while (!ended) {
      const message = await create(`${prefix}-${total++}`, { mode: 'plain' });
      if (message !== undefined) failures.push({ at: Date.now(), message });
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const workers = [apply(), apply()];
  try {
    await action();
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  } finally {
    ended = true;
  }
  await Promise.all(workers);
  return { total, failures };
}

test('two replicas on two nodes run as the image says, without rights and without a disk to write to', async () => {
  const pods = await replicas();
  expect(new Set(pods.map(({ spec }) => spec.nodeName))).toEqual(new Set(['node-0', 'node-1']));
  const script = `const fs = require('node:fs'); let code; try { fs.writeFileSync('/kidp/x', ''); } catch (error) { code = error.code; }
    fs.writeFileSync('/tmp/x', '');
    console.log(JSON.stringify([process.getuid(), code, /^CapEff:\\t0+$/m.test(fs.readFileSync('/proc/self/status', 'utf8'))]));`;
  const said = await platform.kubectl(
    'exec',
    '--namespace',
    'kidp-system',
    pods[0]?.metadata.name ?? '',
    '--',
    '/nodejs/bin/node',
    '-e',
    script,
  );
  expect(JSON.parse(said)).toEqual([65_532, 'EROFS', true]);
});

test('no apply fails during a rolling restart', async () => {
  const { total, failures } = await whileApplying(async () => {
    await platform.kubectl('--namespace', 'kidp-system', 'rollout', 'restart', 'deployment/kidp');
    await untilRolledOut();
  });
  expect(failures).toEqual([]);
  expect(total).toBeGreaterThan(100);
});

test('no apply fails while a node is drained', async () => {
  const { failures } = await whileApplying(async () => {
    await platform.kubectl(
      'drain',
      'node-1',
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--force',
      '--timeout=180s',
    );
    await untilRolledOut();
  });
  await platform.kubectl('uncordon', 'node-1');
  expect(failures).toEqual([]);
});

test('when a replica is killed, only requests of the next moments fail', async () => {
  const [victim] = await replicas();
  const id = victim?.status.containerStatuses[0]?.containerID.replace('containerd://', '') ?? '';
  let killed = 0;
  const { total, failures } = await whileApplying(async () => {
    killed = Date.now();
    await platform.cluster.killContainer(victim?.spec.nodeName ?? '', id);
    await eventually(async () => {
      const now = (await replicas()).flatMap(({ status }) =>
        status.containerStatuses.map(({ containerID }) => containerID),
      );
      expect(now).not.toContain(`containerd://${id}`);
    });
    await untilRolledOut();
  });
  const last = Math.max(0, ...failures.map(({ at }) => at - killed));
  process.stdout.write(
    `killed replica: ${failures.length} of ${total} applies failed, the last one ${last} ms after SIGKILL\n`,
  );
  for (const { message } of failures) expect(message).toMatch(/failed calling webhook/);
  // Until the kubelet notices, and kube-proxy has removed the endpoint.
  expect(last).toBeLessThan(30_000);
  expect(await create('after', { mode: 'plain' })).toBeUndefined();
});

test('the broker in its own Pod deploys a Secret and reports over HTTP', async () => {
  await platform.apply(...teamObjects('team-nodes'));
  const metadata = { name: 'cookies', namespace: 'team-nodes' };
  const spec = {
    owner: { kind: 'Application', name: 'app', namespace: 'team-nodes' },
    targetRef: { name: 'in-cluster' },
    keys: [{ name: 'cookie', generate: { length: 48 } }],
  };
  await eventually(() => platform.apply({ apiVersion, kind: 'Secret', metadata, spec }));
  const flags = ['--namespace', 'team-nodes', '--timeout=120s'];
  await eventually(() =>
    platform.kubectl('wait', '--for=condition=Ready', 'secrets.platform.company.com/cookies', ...flags),
  );
  const secret = JSON.parse(
    await platform.kubectl('get', 'secret', 'cookies', '--namespace', 'team-nodes', '--output', 'json'),
  );
  expect(Buffer.from(secret.data.cookie, 'base64').toString()).toHaveLength(48);
});
