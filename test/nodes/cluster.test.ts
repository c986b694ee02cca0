/** Real nodes: containers run there, find each other through Services and DNS, and nothing is left when the runner dies. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ensureAssets,
  imageArchive,
  type RealCluster,
  rootFileSystem,
  startRealCluster,
} from '../../src/controlplane/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { lineFrom, startTestProcess } from '../support/test-process.ts';

const image = 'test.local/busybox:1';

describe('a cluster with two real nodes', () => {
  let cluster: RealCluster;
  let kubectl: (...flags: string[]) => string;

  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 2 });
    const { kubectl: program } = await ensureAssets(['kubectl']);
    kubectl = (...flags) => execFileSync(program, ['--kubeconfig', cluster.kubeconfig, ...flags], { encoding: 'utf8' });
    const layer = readFileSync(await rootFileSystem({ packages: ['busybox-static'], architecture: 'amd64' }));
    const archive = join(cluster.directory, 'busybox.tar');
    await writeFile(archive, imageArchive({ name: image, architecture: 'amd64', layers: [layer], config: {} }));
    await cluster.importImages(archive);
    await apply(cluster, kubectl, [...web(), pod('client', 'node-1', ['/bin/busybox', 'sleep', '1000000'])]);
    kubectl('wait', '--for=condition=Ready', 'pods', '--all', '--timeout=120s');
  });
  afterAll(() => cluster?.stop());
  const get = (url: string) => kubectl('exec', 'client', '--', '/bin/busybox', 'wget', '-q', '-O-', url);

  test('has nodes that the API server reaches', () => {
    expect(cluster.nodes.map(({ name }) => name)).toEqual(['node-0', 'node-1']);
    expect(kubectl('exec', 'client', '--', '/bin/busybox', 'id', '-u').trim()).toBe('1000');
    expect(kubectl('logs', 'web-0')).toContain('serving on node-0');
  });

  test('resolves a Service, and reaches its Pod on the other node', async () => {
    // kube-proxy follows the endpoints within moments.
    await eventually(() => expect(get('http://web.default.svc/hello')).toContain('hello from web-0'));
  });

  test('refuses an address of no Service at once, so that a client can try again', () => {
    expect(() => get('http://10.96.99.99/')).toThrow('Connection refused');
  });

  test('restarts a container that fails', async () => {
    await apply(cluster, kubectl, [pod('failing', 'node-0', ['/bin/busybox', 'false'])]);
    await eventually(() => {
      const restarts = kubectl('get', 'pod', 'failing', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}');
      expect(Number(restarts)).toBeGreaterThan(0);
    });
  });
});

test('leaves nothing on the machine when the runner is killed', async () => {
  const program = fileURLToPath(new URL('./support/runner.ts', import.meta.url));
  const runner = startTestProcess('the runner', process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await lineFrom(runner, /^\{.*$/);
  const { directory, link, cgroup } = JSON.parse(line) as { directory: string; link: string; cgroup: string };
  const left = () => ({
    directory: existsSync(directory),
    link: existsSync(`/sys/class/net/${link}`),
    cgroups: readdirSync('/sys/fs/cgroup').filter((name) => existsSync(join('/sys/fs/cgroup', name, cgroup))),
    processes: execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })
      .split('\n')
      .filter((args) => args.includes(directory)),
  });
  const running = left();
  expect(running.processes.length).toBeGreaterThan(5);
  expect(running).toMatchObject({ directory: true, link: true });
  expect(running.cgroups.length + Number(existsSync(join('/sys/fs/cgroup', cgroup)))).toBeGreaterThan(0);
  runner.child.kill('SIGKILL');
  await runner.exited;
  await expect.poll(left).toEqual({ directory: false, link: false, cgroups: [], processes: [] });
});

async function apply(cluster: RealCluster, kubectl: (...flags: string[]) => string, items: readonly object[]) {
  const file = join(cluster.directory, 'objects.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  await eventually(() => kubectl('apply', '-f', file));
}

/** A Pod that listens on node-0, and its Service. */
function web(): object[] {
  const serve =
    'mkdir -p /tmp/www && echo "hello from $HOSTNAME" > /tmp/www/hello && echo "serving on $NODE" && exec /bin/busybox httpd -f -p 8080 -h /tmp/www';
  const served = pod('web-0', 'node-0', ['/bin/busybox', 'sh', '-c', serve.replaceAll('mkdir', '/bin/busybox mkdir')]);
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { name: 'web-0' }, ports: [{ port: 80, targetPort: 8080 }] },
  };
  return [served, service];
}

function pod(name: string, nodeName: string, command: string[]): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { name } },
    spec: {
      nodeName,
      terminationGracePeriodSeconds: 0,
      securityContext: { runAsUser: 1000, runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'main',
          image,
          command,
          env: [{ name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}
