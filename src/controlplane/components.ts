/**
 * The components that turn an API server into a cluster: controller-manager, scheduler, and KWOK, which simulates nodes
 * and pods.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { stagesBeside } from './assets.ts';
import { ControlPlaneError } from './errors.ts';
import { manageProcess, type ProcessHandle } from './process.ts';
import { ask, type TlsClient } from './request.ts';

interface ComponentOptions {
  program: string;
  logFile: string;
  /** The folder for the process identity while the component runs. */
  run: string;
  /** The path of a kubeconfig file, which is read at each start. */
  kubeconfig: string;
  server: () => string;
  admin: () => TlsClient;
}

interface ControllerManagerOptions extends ComponentOptions {
  signingKeyFile: string;
  rootAuthorityFile: string;
}

export function controllerManager(options: ControllerManagerOptions): ProcessHandle {
  return manageProcess({
    name: 'kube-controller-manager',
    run: options.run,
    logFile: options.logFile,
    command: () => ({
      program: options.program,
      arguments: [
        ...delegated(options),
        '--controllers=*',
        '--use-service-account-credentials=true',
        `--service-account-private-key-file=${options.signingKeyFile}`,
        `--root-ca-file=${options.rootAuthorityFile}`,
        '--kube-api-qps=200',
        '--kube-api-burst=400',
      ],
    }),
    // It serves no port, so it counts as ready once it has created the default service account.
    isReady: () => answers(options, '/api/v1/namespaces/default/serviceaccounts/default'),
  });
}

export function scheduler(options: ComponentOptions): ProcessHandle {
  let started = 0;
  return manageProcess({
    name: 'kube-scheduler',
    run: options.run,
    logFile: options.logFile,
    command: () => {
      started = Date.now();
      return {
        program: options.program,
        arguments: [...delegated(options), '--kube-api-qps=200', '--kube-api-burst=400'],
      };
    },
    // It serves no port, so it counts as ready if it has not exited over its flags or kubeconfig.
    isReady: async () => Date.now() - started > 500,
  });
}

interface KwokOptions extends ComponentOptions {
  nodes: number;
}

export async function kwok(options: KwokOptions): Promise<ProcessHandle> {
  const stages = stagesBeside(options.program);
  const files = (await readdir(stages)).filter((name) => name.endsWith('.yaml')).sort();
  return manageProcess({
    name: 'kwok',
    run: options.run,
    logFile: options.logFile,
    command: () => ({
      program: options.program,
      arguments: [
        `--kubeconfig=${options.kubeconfig}`,
        '--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake',
        '--cidr=10.244.0.0/16',
        '--node-lease-duration-seconds=40',
        ...files.map((name) => `--config=${join(stages, name)}`),
      ],
    }),
    isReady: async () => {
      for (let index = 0; index < options.nodes; index++) if (!(await ensureNode(options, index))) return false;
      return true;
    },
  });
}

/** Whether the node is Ready; creates it if it does not exist. */
async function ensureNode(options: KwokOptions, index: number): Promise<boolean> {
  const name = `node-${index}`;
  const answer = await ask(options.admin(), `${options.server()}/api/v1/nodes/${name}`);
  if (answer.status === 200) {
    const conditions: { type: string; status: string }[] = JSON.parse(answer.text).status?.conditions ?? [];
    return conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  }
  const created = await ask(options.admin(), `${options.server()}/api/v1/nodes`, { method: 'POST', body: node(name) });
  if (created.status < 300 || created.status === 409) return false;
  throw new ControlPlaneError({
    code: 'process/not-ready',
    message: `the node ${name} could not be created: ${created.text}`,
    hint: 'See what the API server logs about it.',
  });
}

function node(name: string): unknown {
  const resources = { cpu: '32', memory: '256Gi', pods: '110' };
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake', 'node.alpha.kubernetes.io/ttl': '0' },
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        type: 'kwok',
      },
    },
    status: { allocatable: resources, capacity: resources },
  };
}

function delegated(options: ComponentOptions): string[] {
  return [
    `--kubeconfig=${options.kubeconfig}`,
    `--authentication-kubeconfig=${options.kubeconfig}`,
    `--authorization-kubeconfig=${options.kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--profiling=false',
  ];
}

async function answers(options: ComponentOptions, path: string): Promise<boolean> {
  return (await ask(options.admin(), `${options.server()}${path}`)).status === 200;
}
