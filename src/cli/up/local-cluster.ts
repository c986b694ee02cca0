/** A local control plane, with its state in a directory of the user. */
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { defaultBreakGlassGroup } from '../../admission/index.ts';
import { kinds } from '../../api/index.ts';
import {
  type AssetOptions,
  type ControlPlane,
  ControlPlaneError,
  ensureAssets,
  type Kafka,
  type ProcessHandle,
  renderProgress,
  startControlPlane,
  startKafka,
  type User,
  webhookClientName,
} from '../../controlplane/index.ts';
import { type Cleanup, startPlatform } from '../../platform/index.ts';
import { DEFAULT_EXCEPTION_NAMESPACES, DEFAULT_PLATFORM_NAMESPACE } from '../../policy/internal.ts';
import { type Client, connect, loadKubeconfig } from '../../runtime/index.ts';
import { addressGuard, type ClientAuthority } from '../../runtime/internal.ts';
import { gateOptions } from '../common/crd-gate-flags.ts';
import type { UpFlags } from './command.ts';
import { installDefinitions } from './definitions.ts';
import { addExample } from './example.ts';
import { addIdentities, identities, untilAllowed } from './identities.ts';
import { startLocalBrokers } from './local-brokers.ts';
import { localRollouts, registerCluster } from './local-rollouts.ts';
import { endOf, type Running } from './running.ts';
import { addNamespaces, addStarterPolicies } from './starter-policies.ts';
import type { Steps } from './steps.ts';
import { addVolumes } from './volumes.ts';
import { keptWebhookPort, webhookAddress, webhookUser } from './webhook-address.ts';
import { commandsToTry, metricsToTry, rolloutsToTry } from './welcome.ts';

const nodes = 2;

/** `startOwnCluster` starts a control plane and installs kidp into it. */
export async function startOwnCluster(options: UpFlags, step: Steps['step'], cleanup: Cleanup): Promise<Running> {
  const directory = resolve(options.directory);
  const assets = { onProgress: renderProgress(process.stderr) };
  const { kubectl } = await step('control-plane binaries', () =>
    ensureAssets(['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kwok', 'kubectl'], assets),
  );
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const rollouts = await step('Helm', () => localRollouts(directory, assets));
  const kafkaDirectory = join(directory, 'kafka');
  // Kafka starts together with the control plane. With --reset it waits until the state directory is known to be ours to delete.
  const starting = options.reset === true ? undefined : startLocalKafka(kafkaDirectory, assets, cleanup);
  starting?.catch(() => undefined);
  const address = webhookAddress({ ...options, webhookPort: await keptWebhookPort(options, directory) });
  const plane = await step(`control plane with ${nodes} simulated nodes (KWOK)`, () =>
    startControlPlane({
      directory: join(directory, 'cluster'),
      reset: options.reset === true,
      controllerManager: true,
      scheduler: true,
      nodes,
      webhooks: [webhookUser(address)],
      ...(options.port === undefined ? {} : { port: options.port }),
      assets,
    }),
  );
  cleanup.add('stopping the control plane', () => plane.stop());
  const as = async (user: User) => loadKubeconfig({ file: await plane.kubeconfigFor(user) });
  const client = connect(await loadKubeconfig({ file: plane.kubeconfig }));
  cleanup.add('closing the connections', () => client.close());
  const platformClient = connect(await as(identities.platform));
  cleanup.add('closing the connections of the platform', () => platformClient.close());
  await step(`${kinds.length} CRDs of platform.company.com`, () => installDefinitions(client));
  const added = await step('starter policies and an example CRD', async () => {
    await addVolumes(client);
    await addNamespaces(client, [DEFAULT_PLATFORM_NAMESPACE, ...DEFAULT_EXCEPTION_NAMESPACES]);
    await addIdentities(client);
    return addStarters(client).catch(() => undefined);
  });
  const kafka = await step('Kafka', async () => {
    if (starting !== undefined) return starting;
    await rm(kafkaDirectory, { recursive: true, force: true });
    return startLocalKafka(kafkaDirectory, assets, cleanup);
  });
  const guard = addressGuard([new URL(plane.url).host]);
  const platform = await step('admission webhooks, controllers, status API', async () => {
    await untilAllowed(platformClient, DEFAULT_PLATFORM_NAMESPACE, !('away' in rollouts));
    return startPlatform(
      {
        client: platformClient,
        ...address,
        clients: webhookClients(plane),
        failurePolicy: 'Fail',
        crds: gateOptions(options),
        revisions: { kept: options.crdHistory },
        platformNamespace: DEFAULT_PLATFORM_NAMESPACE,
        guard,
        dispatch: { kafka: 'away' in kafka ? undefined : kafka },
        rollouts: 'away' in rollouts ? undefined : rollouts,
      },
      cleanup,
    );
  });
  const { admission, statusApi } = platform;
  if (statusApi !== undefined) {
    const shared = 'away' in kafka ? undefined : kafka;
    const what = shared === undefined ? 'broker for this cluster' : 'brokers for this cluster and for Kafka topics';
    const config = await as(identities.broker);
    await step(what, () => startLocalBrokers({ client, config, directory, statusApi, guard, kafka: shared }, cleanup));
  }
  if (!('away' in rollouts)) {
    const credentials = await plane.kubeconfigFor(identities.rollouts);
    const register = () => registerCluster(client, DEFAULT_PLATFORM_NAMESPACE, rollouts.keys, credentials);
    await step('this cluster registered as a rollout target', register);
  }
  // A killed run leaves its webhook configuration behind, which denies Policies and CRDs until our webhook serves.
  const policies = added ?? (await step('starter policies and an example CRD, again', () => addStarters(client, 10)));
  const kubeconfig = join(directory, 'kubeconfig');
  await rm(kubeconfig, { force: true });
  await symlink(relative(directory, await plane.kubeconfigFor(identities.administrator)), kubeconfig);
  await writeKubectl(join(directory, 'kubectl'), kubectl, kubeconfig);
  const beside = (file: string) => `${relative(process.cwd(), directory) || '.'}/${file}`;
  const watch = watchProcesses(plane);
  cleanup.add('watching the processes', async () => watch.stop());
  return {
    ended: Promise.race([watch.died, endOf(platform)]),
    welcome: [
      `  API server  ${plane.url}`,
      `  admission   ${admission.url}`,
      `  status API  ${statusApi?.url}`,
      'away' in kafka
        ? `  Kafka       none; brokers are reached over HTTP: ${kafka.away}`
        : `  Kafka       ${kafka.bootstrapServers}`,
      'away' in rollouts
        ? `  rollouts    disabled without Helm: ${rollouts.away}`
        : '  rollouts    target Cluster local, which is this cluster',
      `  policies    ${policies} starter policies (policies/), and those you apply`,
      `  break-glass group ${defaultBreakGlassGroup} (docs/break-glass.md)`,
      `  kubeconfig  ${kubeconfig}`,
      `  state       ${directory} (delete it with npm start -- --reset)`,
      '',
      ...commandsToTry(beside('kubectl')),
      ...('away' in rollouts ? [] : rolloutsToTry(beside('kubectl'), beside('kubeconfig'))),
      ...metricsToTry(beside('kubectl'), admission.url),
    ],
  };
}

/** Returns the number of starter policies. */
async function addStarters(client: Client, retries = 0): Promise<number> {
  await addExample(client, retries);
  return addStarterPolicies(client);
}

/** The API server, as the only accepted client of the webhook. */
function webhookClients({ webhookAuthority: ca = '' }: ControlPlane): ClientAuthority {
  return { current: () => ({ ca, names: [webhookClientName] }), subscribe: () => () => {} };
}

/** Starts Kafka. Without Java it returns the reason, and brokers are reached over HTTP. */
async function startLocalKafka(
  directory: string,
  assets: AssetOptions,
  cleanup: Cleanup,
): Promise<Pick<Kafka, 'bootstrapServers'> | { readonly away: string }> {
  try {
    const kafka = await startKafka({ directory, assets });
    cleanup.add('stopping Kafka', () => kafka.stop());
    return kafka;
  } catch (error) {
    if (
      error instanceof ControlPlaneError &&
      ['assets/no-java', 'assets/java-too-old', 'assets/no-maven'].includes(error.code)
    ) {
      return { away: error.message };
    }
    throw error;
  }
}

/** Writes a kubectl for this cluster, independent of the kubectl and KUBECONFIG of the machine. */
async function writeKubectl(file: string, kubectl: string, kubeconfig: string): Promise<void> {
  const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  await writeFile(file, `#!/bin/sh\nKUBECONFIG=${quote(kubeconfig)} exec ${quote(kubectl)} "$@"\n`, { mode: 0o755 });
}

/** Watches the processes of the control plane, so that the user learns when one has died. */
function watchProcesses(plane: ControlPlane): { died: Promise<string>; stop(): void } {
  const processes: ProcessHandle[] = [
    ...plane.etcd.members,
    plane.apiServer,
    plane.controllerManager,
    plane.scheduler,
    plane.kwok,
  ].filter((handle) => handle !== undefined);
  let timer: NodeJS.Timeout | undefined;
  const died = new Promise<string>((resolve) => {
    timer = setInterval(() => {
      const dead = processes.find(({ pid }) => pid === undefined);
      if (dead !== undefined) resolve(`${dead.name} exited unexpectedly; see ${dead.logFile}`);
    }, 1_000);
  });
  return { died, stop: () => clearInterval(timer) };
}
