/** The shared cluster as rollouts see one, and the real Helm. */
import type { Operator } from '../../../src/api/index.ts';
import { ensureAssets } from '../../../src/controlplane/index.ts';
import {
  type ApplyOptions,
  type Charts,
  type ClusterConnection,
  type Installer,
  openCharts,
  openInstaller,
  openSnapshotStore,
  openSwitcher,
  type Snapshot,
  type SnapshotStore,
  type Switcher,
} from '../../../src/fleet/index.ts';
import {
  type Client,
  connect,
  isNotFound,
  loadKubeconfig,
  type Resource,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import { sharedCluster } from '../../support/cluster.ts';
import {
  type ChartRepository,
  type OperatorChart,
  operatorFrom,
  serveRepository,
} from '../../support/operator-charts.ts';

export const resources = {
  deployments: { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespaced: true },
  daemonSets: { group: 'apps', version: 'v1', plural: 'daemonsets', kind: 'DaemonSet', namespaced: true },
  pods: { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true },
  configMaps: { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
  secrets: { group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true },
  namespaces: { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false },
  definitions: {
    group: 'apiextensions.k8s.io',
    version: 'v1',
    plural: 'customresourcedefinitions',
    kind: 'CustomResourceDefinition',
    namespaced: false,
  },
  clusterRoles: {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    plural: 'clusterroles',
    kind: 'ClusterRole',
    namespaced: false,
  },
  clusterRoleBindings: {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    plural: 'clusterrolebindings',
    kind: 'ClusterRoleBinding',
    namespaced: false,
  },
  webhooks: {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'validatingwebhookconfigurations',
    kind: 'ValidatingWebhookConfiguration',
    namespaced: false,
  },
} as const satisfies Record<string, Resource>;

export interface HelmPlane {
  readonly client: Client;
  readonly program: string;
  readonly connection: ClusterConnection;
  readonly charts: Charts;
  readonly installer: Installer;
  readonly switcher: Switcher;
  readonly snapshots: SnapshotStore;
  readonly repository: ChartRepository;
  readonly systemNamespace: string;
  /** Fetched, rendered and kept. */
  snapshot(chart: OperatorChart, namespace: string, values?: Readonly<Record<string, unknown>>): Promise<Snapshot>;
  /** The current object, without server-side fields; undefined if it does not exist. */
  read(resource: Resource, name: string, namespace?: string): Promise<UnknownObject | undefined>;
  stop(): Promise<void>;
}

export const environment = 'Dev';
export const kubernetesVersion = 'v1.36.3';

export async function openHelmPlane(prefix: string): Promise<HelmPlane> {
  const cluster = sharedCluster();
  const { helm: program } = await ensureAssets(['helm']);
  const client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  const systemNamespace = await cluster.uniqueNamespace(prefix);
  const helm = { program };
  const charts = openCharts({ helm, client, systemNamespace });
  const installer = openInstaller({ helm });
  const snapshots = openSnapshotStore({ client, namespace: systemNamespace });
  const repository = await serveRepository([]);
  const connection: ClusterConnection = {
    cluster: 'here',
    environment,
    kubernetesVersion,
    client,
    withKubeconfig: (use) => use(cluster.kubeconfig),
  };
  return {
    client,
    program,
    connection,
    charts,
    installer,
    switcher: openSwitcher({ installer, timeoutMilliseconds: 120_000 }),
    snapshots,
    repository,
    systemNamespace,
    async snapshot(chart, namespace, values = {}) {
      repository.serve([chart]);
      const operator: Operator = operatorFrom(chart.name, repository.url);
      const fetched = await charts.fetch(operator, chart.version, {});
      const { name, version } = chart;
      const input = {
        operator: name,
        version,
        environment,
        kubernetesVersion,
        namespace,
        releaseName: name,
        values: [values],
      } as const;
      return snapshots.put(await charts.render(fetched, input, {}));
    },
    async read(resource, name, namespace) {
      const key = namespace === undefined ? { name } : { namespace, name };
      return client.get(resource, key).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return undefined;
      });
    },
    async stop() {
      await repository.stop();
      await client.close();
    },
  };
}

/** The custom resources of a chart. */
export const widgetsOf = (name: string, version = 'v1'): Resource => ({
  group: `${name}.example.com`,
  version,
  plural: 'widgets',
  kind: 'Widget',
  namespaced: true,
});

export const applying = (attempt: string, more: Partial<ApplyOptions> = {}): ApplyOptions => ({
  attempt,
  timeoutMilliseconds: 180_000,
  context: {},
  ...more,
});
