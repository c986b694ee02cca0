/** The chart in a control plane without Pods: the processes that its Deployments describe run here, as their ServiceAccounts. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../src/controlplane/ports.ts';
import { type Client, connect, loadKubeconfig, type Resource, type UnknownObject } from '../../../src/runtime/index.ts';
import { type ControlPlane, type SharedControlPlane, sharedCluster, startControlPlane } from '../../support/cluster.ts';
import { type Helm, realHelm } from '../../support/helm.ts';
import { eventuallyFrom, startTestProcess } from '../../support/test-process.ts';
import { chart, root, valuesFile } from './chart.ts';

export const patient = { within: 180_000, every: 100 };
const apps = { group: 'apps', version: 'v1', namespaced: true };
export const deployments: Resource = { ...apps, plural: 'deployments', kind: 'Deployment' };
const release = 'kidp-operators';

interface Deployment extends UnknownObject {
  readonly spec: {
    readonly template: {
      readonly spec: { serviceAccountName: string; containers: { args: string[] }[] };
    };
  };
}

export interface RunningProcess {
  lines(): readonly string[];
  errors(): string;
  until(message: string): Promise<unknown>;
  stop(): Promise<number | null>;
}

export interface Installation {
  readonly plane: ControlPlane;
  readonly client: Client;
  /** Rejects with what kubectl wrote. */
  kubectl(words: readonly string[], input?: string | object): Promise<string>;
  /** Resolves for every exit code. */
  helm: Helm['helm'];
  /** `helm upgrade --install`, with further flags. */
  install(values: object, ...flags: readonly string[]): Promise<string>;
  uninstall(...flags: readonly string[]): Promise<string>;
  /** Writes a file that only its owner reads to where Pods have /etc/kidp. */
  mount(file: string, content: string): void;
  /** Runs `kidp serve` with the arguments of the installed Deployment, and as its ServiceAccount. */
  serve(port?: number): Promise<RunningProcess & { readonly statusPort: number | undefined }>;
  /** Runs the broker of a Deployment, which reaches the status API at this port. */
  broker(name: string, statusPort: number): Promise<RunningProcess>;
  /** Runs the uninstall hook: as Helm does, with its objects and as its ServiceAccount, except that no Pod runs it. */
  hook(): Promise<{ code: number | null; output: string }>;
  stop(): Promise<void>;
}

export async function startInstallation(): Promise<Installation> {
  const helm = await realHelm();
  const plane = await startControlPlane({ controllerManager: true });
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  const program = (sharedCluster().controlPlane satisfies SharedControlPlane).kubectl;
  const running = new Set<ReturnType<typeof startTestProcess>>();

  async function kubectl(words: readonly string[], input?: string | object): Promise<string> {
    const answer = await sharedCluster().kubectl(words, {
      kubeconfig: plane.kubeconfig,
      ...(input === undefined ? {} : { input }),
    });
    if (answer.code !== 0) throw new Error(`${program} ${words.join(' ')}: ${answer.stderr}`);
    return answer.stdout;
  }

  async function succeeding(words: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await helm.helm(words, plane.kubeconfig);
    if (code !== 0) throw new Error(`helm ${words.join(' ')}: ${stderr}${stdout}`);
    return stdout;
  }

  /** With a token as a Pod of it would get. */
  async function kubeconfigOf(account: string, namespace: string): Promise<string> {
    const token = (await kubectl(['create', 'token', account, '-n', namespace])).trim();
    const file = join(helm.directory, `${account}.kubeconfig`);
    const cluster = {
      server: plane.url,
      'certificate-authority-data': Buffer.from(plane.authority).toString('base64'),
    };
    const kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'plane', cluster }],
      users: [{ name: account, user: { token } }],
      contexts: [{ name: 'plane', context: { cluster: 'plane', user: account } }],
      'current-context': 'plane',
    };
    writeFileSync(file, JSON.stringify(kubeconfig));
    return file;
  }

  function start(name: string, words: readonly string[]): RunningProcess {
    const options = { cwd: root, stdio: 'pipe' } as const;
    const started = startTestProcess(name, process.execPath, [join(root, 'bin', 'kidp.js'), ...words], options);
    running.add(started);
    let errors = '';
    let output = '';
    started.child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
    started.child.stderr?.setEncoding('utf8').on('data', (text: string) => (errors += text));
    const lines = () => output.split('\n').slice(0, -1);
    return {
      lines,
      errors: () => errors,
      until: (message) =>
        eventuallyFrom(started, () => lines().some((line) => JSON.parse(line).message === message), {
          ...patient,
          waitedFor: `the log message "${message}"`,
        }),
      async stop() {
        const { code } = await started.kill('SIGTERM');
        running.delete(started);
        return code;
      },
    };
  }

  async function argumentsOf(name: string, namespace: string) {
    const { spec } = await client.get<Deployment>(deployments, { name, namespace });
    const [container] = spec.template.spec.containers;
    const account = await kubeconfigOf(spec.template.spec.serviceAccountName, namespace);
    return { words: container?.args ?? [], kubeconfig: ['--kubeconfig', account] };
  }

  return {
    plane,
    client,
    kubectl,
    helm: (words) => helm.helm(words, plane.kubeconfig),
    async install(values, ...flags) {
      // No Pod runs here, so nobody would answer for the Brokers that Helm creates and deletes.
      const webhooks = 'validatingwebhookconfigurations,mutatingwebhookconfigurations';
      await kubectl(['delete', webhooks, 'kidp-admission', '--ignore-not-found']);
      const file = valuesFile(helm, 'installed', values);
      return succeeding(['upgrade', '--install', release, chart, '--values', file, ...flags]);
    },
    uninstall: (...flags) => succeeding(['uninstall', release, ...flags]),
    mount(file, content) {
      helm.write({ [`etc/${file}`]: content });
      chmodSync(join(helm.directory, 'etc', file), 0o600);
    },
    async serve(port) {
      const { words, kubeconfig } = await argumentsOf('kidp', 'kidp-system');
      const listening = String(port ?? (await freePort()));
      // The API server reaches no Service here.
      const given = words.filter((word) => !word.startsWith('--service=') && !word.startsWith('--status-url='));
      const local = given.map((word) => word.replace('=/etc/kidp/', `=${helm.directory}/etc/`));
      const rollsOut = words.some((word) => word.startsWith('--cluster-keys='));
      const dispatches = words.some((word) => word.startsWith('--status-url='));
      const statusPort = dispatches ? await freePort() : undefined;
      const status =
        statusPort === undefined
          ? []
          : ['--status-port', String(statusPort), '--status-url', `https://127.0.0.1:${statusPort}`];
      const started = start('kidp serve', [
        ...local,
        ...(rollsOut ? ['--helm', join(helm.folder, 'helm')] : []),
        ...kubeconfig,
        ...['--port', listening, '--url', `https://127.0.0.1:${listening}`, ...status, '--drain-seconds', '0'],
      ]);
      return { ...started, statusPort };
    },
    async broker(name, statusPort) {
      const { words, kubeconfig } = await argumentsOf(name, 'kidp-brokers');
      const local = words.map((word) => word.replace('kidp.kidp-system.svc:8444', `127.0.0.1:${statusPort}`));
      const reachable = ['--port', '0', '--host', '127.0.0.1', '--allow-address', `127.0.0.1:${statusPort}`];
      return start('kidp broker', [...local, ...kubeconfig, ...reachable]);
    },
    async hook() {
      const hooks = await succeeding(['get', 'hooks', release]);
      const objects = hooks.split(/^---$/m).filter((text) => !/^kind: Job$/m.test(text));
      await kubectl(['apply', '-f', '-'], objects.join('---\n'));
      const job = JSON.parse(
        await kubectl(
          ['create', '--dry-run=server', '-o', 'json', '-f', '-'],
          hooks.split(/^---$/m).find((text) => /^kind: Job$/m.test(text)) ?? '',
        ),
      );
      const { serviceAccountName, containers } = job.spec.template.spec;
      const words = [...containers[0].args, '--kubeconfig', await kubeconfigOf(serviceAccountName, 'kidp-system')];
      const run = startTestProcess('kidp uninstall', process.execPath, [join(root, 'bin', 'kidp.js'), ...words], {
        cwd: root,
        stdio: 'pipe',
      });
      const { code } = await run.exited;
      await kubectl(['delete', '-f', '-'], objects.join('---\n'));
      return { code, output: run.output() };
    },
    async stop() {
      for (const each of running) await each.kill();
      await client.close();
      await plane.stop();
      helm.remove();
    },
  };
}
