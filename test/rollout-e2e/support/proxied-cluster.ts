/**
 * A cluster behind a proxy, so that the way there can be cut and what is asked on it can be seen. It is the cluster
 * `dev` under another name; its kubeconfig proves who we are with a token, since a certificate would not come through.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeKubeconfig } from '../../../src/fleet/index.ts';
import type { Client, Resource, UnknownObject } from '../../../src/runtime/index.ts';
import { issueAuthority, issueLeaf } from '../../../src/runtime/internal.ts';
import type { ControlPlane } from '../../support/cluster.ts';
import { addCluster, type Stage, type Target } from './testbed.ts';

/** Requests to the API server of the cluster. */
export interface Seen {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly traceparent: string | undefined;
}

export interface FarCluster {
  readonly name: string;
  readonly kubeconfig: string;
  /** The address of the real API server. */
  readonly target: Target;
  readonly seen: readonly Seen[];
  /** Cuts the connection right after such a request was answered. Resolves then. */
  cutAfter(isLast: (seen: Seen) => boolean): Promise<void>;
  restore(): void;
  stop(): Promise<void>;
}

/** Registered before the platform runs: it is first in the order of names. */
export async function addFarCluster({ client, keys, targets, guard }: Stage): Promise<FarCluster> {
  const target = targets.find(({ name }) => name === 'dev');
  if (target === undefined) throw new Error('cluster dev not found');
  const name = 'afar';
  const proxy = await startProxy(target.plane);
  const directory = await mkdtemp(join(tmpdir(), 'kidp-far-'));
  const stop = async () => {
    await proxy.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    guard.allow(new URL(proxy.url).host);
    const server = { server: proxy.url, certificateAuthority: { data: proxy.authority }, source: name };
    const kubeconfig = writeKubeconfig(server, await administratorToken(target.client));
    const file = join(directory, 'kubeconfig');
    await writeFile(file, kubeconfig, { mode: 0o600 });
    await addCluster(client, keys, { name, environment: 'Dev', plane: { kubeconfig: file } });
    return { ...proxy, name, kubeconfig, target, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const bindings: Resource = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  plural: 'clusterrolebindings',
  kind: 'ClusterRoleBinding',
  namespaced: false,
};

async function administratorToken(client: Client): Promise<string> {
  const name = 'far-administrator';
  const accounts = '/api/v1/namespaces/kube-system/serviceaccounts';
  await client.request({ method: 'POST', path: accounts, body: { metadata: { name } } });
  await client.create(bindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'kube-system' }],
  } as UnknownObject);
  const path = `${accounts}/${name}/token`;
  const { status, text } = await client.request({ method: 'POST', path, body: { spec: { expirationSeconds: 7_200 } } });
  if (status !== 201) throw new Error(`asking for a token: ${status} ${text}`);
  return (JSON.parse(text) as { status: { token: string } }).status.token;
}

const hour = 3_600_000;

async function startProxy(plane: Pick<ControlPlane, 'url' | 'authority'>) {
  const times = { now: Date.now(), validMilliseconds: 24 * hour, backdateMilliseconds: hour };
  const authority = issueAuthority(times);
  const { certificate: cert, key } = issueLeaf(authority, { ...times, names: ['127.0.0.1'] });
  const { hostname, port } = new URL(plane.url);
  const agent = new Agent({ keepAlive: true, ca: plane.authority });
  const open = new Set<Socket>();
  const seen: Seen[] = [];
  let isCut = false;
  let last: { readonly is: (seen: Seen) => boolean; readonly cut: () => void } | undefined;
  const server = createServer({ cert, key }, (asked, answer) => {
    const { method = '', url: path = '', headers } = asked;
    const one = { method, path, traceparent: headers.traceparent as string | undefined };
    seen.push(one);
    const onward = request({ hostname, port, method, path, headers, agent }, (answered) => {
      answer.writeHead(answered.statusCode ?? 502, answered.headers);
      answered.pipe(answer);
      answered.on('error', () => answer.destroy());
      answer.on('finish', () => {
        if (last?.is(one) === true) last.cut();
      });
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    answer.on('error', () => {});
    asked.pipe(onward);
  });
  server.on('connection', (socket: Socket) => {
    // The port stays bound, so that no other process takes it.
    if (isCut) socket.destroy();
    open.add(socket);
    socket.on('close', () => open.delete(socket));
  });
  const cut = () => {
    isCut = true;
    for (const each of open) each.destroy();
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority: authority.certificate,
    seen,
    cutAfter: (is: (seen: Seen) => boolean) =>
      new Promise<void>((resolve) => {
        last = {
          is,
          cut() {
            last = undefined;
            cut();
            resolve();
          },
        };
      }),
    restore() {
      isCut = false;
    },
    async stop() {
      cut();
      agent.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
