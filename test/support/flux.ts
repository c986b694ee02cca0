/**
 * Real Flux against a control plane: source-controller and kustomize-controller as processes outside the cluster, and the two
 * objects that make a Git repository land in it. Their CRDs come with the programs, copied from their Go modules when these
 * were built.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ensureAssets, fluxCrdsBeside, renderProgress } from '../../src/controlplane/index.ts';
import { freePort } from '../../src/controlplane/ports.ts';
import { manageProcess, type ProcessHandle, portWasTaken } from '../../src/controlplane/process.ts';
import {
  type Client,
  type Condition,
  connect,
  isAlreadyExists,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import type { GitRepository } from './git-server.ts';

export const gitRepositories: Resource = {
  group: 'source.toolkit.fluxcd.io',
  version: 'v1',
  plural: 'gitrepositories',
  kind: 'GitRepository',
  namespaced: true,
};
export const kustomizations: Resource = {
  group: 'kustomize.toolkit.fluxcd.io',
  version: 'v1',
  plural: 'kustomizations',
  kind: 'Kustomization',
  namespaced: true,
};

export interface FluxOptions {
  /** As whom the controllers work. */
  kubeconfig: string;
  /** Where the controllers and the objects of `sync` are; created where it is not there. */
  namespace?: string;
}

export interface Flux {
  readonly namespace: string;
  readonly controllers: readonly ProcessHandle[];
  /** Makes what is in `path` of the repository land in the cluster, now and after each commit that `settled` is asked about. */
  sync(name: string, repository: GitRepository, options?: SyncOptions): Promise<void>;
  /** Has the commit fetched and applied, and resolves to the Ready condition it ended with: True, or False with the reason. */
  settled(name: string, commit: string): Promise<Condition>;
  /** Like `settled`, for a commit that Flux finds on its own schedule. */
  outcome(name: string, commit: string): Promise<Condition>;
  /** Has what was fetched last compared with the cluster and applied once more, as the interval would; resolves when that has ended. */
  reconciled(name: string): Promise<Condition>;
  /** What came of each object each time that all were applied, the last at the end: `{'Team/a': 'unchanged'}`. */
  applied(name: string): readonly Readonly<Record<string, 'created' | 'configured' | 'unchanged' | 'skipped'>>[];
  stop(): Promise<void>;
}

export interface SyncOptions {
  path?: string;
  /** How often Git is looked at unasked. */
  interval?: string;
  /** Another sync of the same repository, to see the same commit at the same time. */
  source?: string;
  /** Fields of the Kustomization beside those that every one has: `dependsOn`, `wait` … */
  spec?: Readonly<Record<string, unknown>>;
}

interface Kustomization extends KubernetesObject {
  status?: { conditions?: Condition[]; lastAttemptedRevision?: string; lastHandledReconcileAt?: string };
}

export async function startFlux(options: FluxOptions): Promise<Flux> {
  const { namespace = 'flux-system' } = options;
  const onProgress = renderProgress(process.stderr);
  const programs = await ensureAssets(['source-controller', 'kustomize-controller'], { onProgress });
  const client = connect(loadKubeconfig({ file: options.kubeconfig }), { userAgent: 'kidp-test-flux' });
  const directory = mkdtempSync(join(tmpdir(), 'kidp-flux-'));
  const controllers: ProcessHandle[] = [];
  const stop = async () => {
    await Promise.all(controllers.map((each) => each.kill()));
    await client.close();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    for (const program of Object.values(programs)) await installCrds(client, fluxCrdsBeside(program));
    await ensureNamespace(client, namespace);
    const start = { directory, namespace, kubeconfig: options.kubeconfig };
    controllers.push(
      await startController({ ...start, name: 'source-controller', program: programs['source-controller'] }),
      await startController({ ...start, name: 'kustomize-controller', program: programs['kustomize-controller'] }),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const logFile = controllers[1]?.logFile ?? '';
  return { namespace, controllers, stop, ...syncing(client, namespace), applied: (name) => appliedIn(logFile, name) };
}

/** Drift that it finds is in no status: only its log has it in time. */
function appliedIn(logFile: string, name: string): ReturnType<Flux['applied']> {
  return readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"server-side apply completed"'))
    .map((line) => JSON.parse(line))
    .filter((entry) => entry.name === name)
    .map(({ output }) => output);
}

type Syncing = Pick<Flux, 'sync' | 'settled' | 'outcome' | 'reconciled'>;

function syncing(client: Client, namespace: string): Syncing {
  // What is asked for is fetched at once and tried again soon; otherwise nothing happens automatically in a test.
  const never = '10m';
  const sourceOf = new Map<string, string>();
  const askFor = async (resource: Resource, name: string): Promise<string> => {
    const requestedAt = new Date().toISOString();
    const body = { metadata: { annotations: { 'reconcile.fluxcd.io/requestedAt': requestedAt } } };
    await client.patch(resource, { namespace, name }, { type: 'merge', body });
    return requestedAt;
  };
  /** Ready once it has come to an end, which `isIt` recognises; while Flux is at work Ready is Unknown. */
  const ended = (name: string, what: string, isIt: (status: NonNullable<Kustomization['status']>) => boolean) =>
    eventually(
      async () => {
        const { status = {} } = await client.get<Kustomization>(kustomizations, { namespace, name });
        const ready = status.conditions?.find(({ type }) => type === 'Ready');
        if (ready !== undefined && ready.status !== 'Unknown' && isIt(status)) return ready;
        throw new Error(`Flux has not settled ${what} of ${name} yet: ${JSON.stringify(status)}`);
      },
      { within: 180_000, every: 250 },
    );
  const outcome = (name: string, commit: string) =>
    ended(name, commit, ({ lastAttemptedRevision }) => lastAttemptedRevision?.endsWith(commit) === true);
  return {
    async sync(name, repository, { path = './', interval = never, source = name, spec = {} } = {}) {
      sourceOf.set(name, source);
      if (source === name) {
        await client.create(gitRepositories, {
          apiVersion: 'source.toolkit.fluxcd.io/v1',
          kind: 'GitRepository',
          metadata: { namespace, name },
          spec: { interval, timeout: '180s', url: repository.url, ref: { branch: 'main' } },
        } as KubernetesObject);
      }
      await client.create(kustomizations, {
        apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
        kind: 'Kustomization',
        metadata: { namespace, name },
        spec: {
          interval: never,
          retryInterval: '3s',
          timeout: '180s',
          path,
          prune: true,
          sourceRef: { kind: 'GitRepository', name: source },
          ...spec,
        },
      } as KubernetesObject);
    },

    async settled(name, commit) {
      await askFor(gitRepositories, sourceOf.get(name) ?? name);
      return outcome(name, commit);
    },

    outcome,

    async reconciled(name) {
      const requestedAt = await askFor(kustomizations, name);
      return ended(name, 'the reconcile', (status) => status.lastHandledReconcileAt === requestedAt);
    },
  };
}

async function installCrds(client: Client, folder: string): Promise<void> {
  const definitions: Resource = {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    plural: 'customresourcedefinitions',
    kind: 'CustomResourceDefinition',
    namespaced: false,
  };
  for (const file of readdirSync(folder).sort()) {
    for (const document of parseAllDocuments(readFileSync(join(folder, file), 'utf8'))) {
      const definition = document.toJS() as KubernetesObject;
      await client.apply(definitions, definition, { fieldManager: 'kidp-test', force: true });
      await eventually(async () => {
        const { status } = await client.get(definitions, { name: definition.metadata.name });
        const conditions = (status as { conditions?: Condition[] } | undefined)?.conditions ?? [];
        return conditions.some(({ type, status: is }) => type === 'Established' && is === 'True');
      });
    }
  }
}

async function ensureNamespace(client: Client, name: string): Promise<void> {
  const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
  try {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

interface ControllerOptions {
  name: 'source-controller' | 'kustomize-controller';
  program: string;
  directory: string;
  namespace: string;
  kubeconfig: string;
}

/** Resolves once it serves `/readyz`. */
async function startController(options: ControllerOptions): Promise<ProcessHandle> {
  const { name, directory } = options;
  const storage = join(directory, 'storage');
  const run = join(directory, 'run');
  mkdirSync(storage, { recursive: true });
  mkdirSync(run, { recursive: true });
  for (let attempt = 1; ; attempt += 1) {
    const [health, metrics, artifacts] = [await freePort(), await freePort(), await freePort()];
    const flags = [
      `--health-addr=127.0.0.1:${health}`,
      `--metrics-addr=127.0.0.1:${metrics}`,
      '--enable-leader-election=false',
      '--log-level=info',
      // Otherwise it would wait longer each time between two tries of a source that is not there yet.
      '--min-retry-delay=500ms',
      '--max-retry-delay=5s',
    ];
    if (name === 'source-controller') {
      flags.push(
        `--storage-path=${storage}`,
        `--storage-addr=127.0.0.1:${artifacts}`,
        `--storage-adv-addr=127.0.0.1:${artifacts}`,
      );
    } else {
      // How long one waits that depends on another.
      flags.push('--requeue-dependency=1s');
    }
    const handle = manageProcess({
      name,
      run,
      logFile: join(directory, `${name}.log`),
      command: () => ({
        program: options.program,
        arguments: flags,
        environment: { KUBECONFIG: options.kubeconfig, RUNTIME_NAMESPACE: options.namespace },
      }),
      isReady: async () => (await statusOf(`http://127.0.0.1:${health}/readyz`)) === 200,
    });
    try {
      await handle.start();
      return handle;
    } catch (error) {
      if (attempt === 5 || !portWasTaken(error)) throw error;
    }
  }
}

function statusOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asking = request(url, { agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    asking.on('timeout', () => asking.destroy(new Error(`${url} did not answer in time`)));
    asking.on('error', reject);
    asking.end();
  });
}
