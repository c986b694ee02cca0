/** Charts of operators, made for tests: a Deployment with its rights, a definition, and what can go wrong with them. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stringify as toYaml } from 'yaml';
import type { Operator } from '../../src/api/index.ts';
import { pack } from '../../src/fleet/charts/archive.ts';

export interface OperatorChart {
  /** Also the group of its definition: `widgets.NAME.example.com`. No two tests share one. */
  readonly name: string;
  readonly version: string;
  /** Of `spec.size`: a lower one breaks what is stored. */
  readonly maximum?: number;
  readonly definitionIn?: 'crds' | 'templates' | 'nowhere';
  readonly replicas?: number;
  /** Of its pods, for the stages of KWOK. */
  readonly podLabels?: Readonly<Record<string, string>>;
  readonly podAnnotations?: Readonly<Record<string, string>>;
  /** Of its pods and its hook: where no node has these labels, they wait. */
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** A Job before each install and upgrade. */
  readonly hook?: boolean;
  /** Answers at this address, with this PEM as its authority; without a URL it is the Service in its namespace. */
  readonly webhook?: {
    readonly url?: string;
    readonly authority?: string;
    readonly timeoutSeconds?: number;
    readonly failurePolicy?: 'Fail' | 'Ignore';
  };
  /** In the Service of its namespace. */
  readonly conversion?: boolean;
  /** More files, by their paths within the chart. */
  readonly files?: Readonly<Record<string, string>>;
}

/** For readers by the rules of YAML 1.1, such as Helm. */
const stringify = (value: unknown): string => toYaml(value, { version: '1.1' });

const inNamespace = '{{ .Release.Namespace }}';

export function definitionOf(
  { name, maximum = 20, conversion = false, version }: OperatorChart,
  namespace = 'default',
): object {
  const schema = {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: { size: { type: 'integer', maximum }, note: { type: 'string' } },
      },
      status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${name}.example.com`, annotations: { 'example.com/of': version } },
    spec: {
      group: `${name}.example.com`,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
      ],
      ...(conversion
        ? {
            conversion: {
              strategy: 'Webhook',
              webhook: {
                conversionReviewVersions: ['v1'],
                clientConfig: { service: { name, namespace, path: '/convert' } },
              },
            },
          }
        : {}),
    },
  };
}

/** By their paths within the chart. */
export function chartFiles(chart: OperatorChart): ReadonlyMap<string, Buffer> {
  const { name, version, definitionIn = 'crds', files = {} } = chart;
  const texts: Record<string, string> = {
    'Chart.yaml': stringify({ apiVersion: 'v2', name, version, appVersion: version.replace(/^v/, '') }),
    'values.yaml': stringify({ mood: 'calm', password: 'none' }),
    'templates/operator.yaml': templates(chart)
      .map((object) => `---\n${stringify(object)}`)
      .join(''),
    ...(definitionIn === 'nowhere'
      ? {}
      : {
          [`${definitionIn}/definition.yaml`]: stringify(
            definitionOf(chart, definitionIn === 'crds' ? name : inNamespace),
          ),
        }),
    ...files,
  };
  return new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)]));
}

export const packChart = (chart: OperatorChart): Buffer => pack(chart.name, chartFiles(chart));

function templates(chart: OperatorChart): object[] {
  const {
    name,
    version,
    replicas = 1,
    podLabels = {},
    podAnnotations = {},
    nodeSelector,
    hook = false,
    webhook,
  } = chart;
  const placed = nodeSelector === undefined ? {} : { nodeSelector };
  const labels = { app: name };
  const metadata = { name, labels };
  const subjects = [{ kind: 'ServiceAccount', name, namespace: inNamespace }];
  const rules = [{ apiGroups: [`${name}.example.com`], resources: ['widgets'], verbs: ['get', 'list', 'watch'] }];
  const container = {
    name: 'controller',
    image: `example.com/${name}:${version}`,
    env: [{ name: 'MOOD', value: '{{ .Values.mood }}' }],
  };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { version, mood: '{{ .Values.mood }}' } },
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { password: '{{ .Values.password }}' } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata, rules },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata,
      subjects,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports: [{ port: 443 }] } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels: { ...labels, ...podLabels }, annotations: { version, ...podAnnotations } },
          spec: { serviceAccountName: name, terminationGracePeriodSeconds: 0, containers: [container], ...placed },
        },
      },
    },
    ...(hook ? [hookOf(name, placed)] : []),
    ...(webhook === undefined ? [] : [webhookOf(chart, webhook)]),
  ];
}

const hookOf = (name: string, placed: object): object => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: {
    name: `${name}-prepare`,
    annotations: { 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-delete-policy': 'before-hook-creation' },
  },
  spec: {
    backoffLimit: 0,
    template: {
      spec: { restartPolicy: 'Never', containers: [{ name: 'prepare', image: 'example.com/prepare:1' }], ...placed },
    },
  },
});

function webhookOf(
  { name }: OperatorChart,
  { url, authority, timeoutSeconds = 5, failurePolicy = 'Ignore' }: NonNullable<OperatorChart['webhook']>,
): object {
  const at = url === undefined ? { service: { name, namespace: inNamespace, path: '/validate' } } : { url };
  const caBundle = authority === undefined ? {} : { caBundle: Buffer.from(authority).toString('base64') };
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name },
    webhooks: [
      {
        name: `widgets.${name}.example.com`,
        clientConfig: { ...at, ...caBundle },
        rules: [
          { apiGroups: [`${name}.example.com`], apiVersions: ['v1'], operations: ['CREATE'], resources: ['widgets'] },
        ],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        failurePolicy,
        timeoutSeconds,
      },
    ],
  };
}

export interface ChartRepository {
  readonly url: string;
  /** What is served from now on. */
  serve(charts: readonly OperatorChart[]): void;
  /** Each request, as `GET /index.yaml`. */
  readonly asked: readonly string[];
  /** Answers with this status in place of anything else. */
  answer(status: number | undefined): void;
  stop(): Promise<void>;
}

/** A Helm repository on this machine. */
export async function serveRepository(charts: readonly OperatorChart[]): Promise<ChartRepository> {
  let files = new Map<string, Buffer>();
  let status: number | undefined;
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const file = files.get(request.url ?? '');
    response.writeHead(status ?? (file === undefined ? 404 : 200)).end(status === undefined ? file : '');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const serve = (now: readonly OperatorChart[]) => {
    const packed = now.map((chart) => ({ chart, bytes: packChart(chart) }));
    const entries: Record<string, object[]> = {};
    for (const { chart, bytes } of packed) {
      const { name, version } = chart;
      const digest = createHash('sha256').update(bytes).digest('hex');
      const entry = { apiVersion: 'v2', name, version, appVersion: version, digest, urls: [`${name}-${version}.tgz`] };
      entries[name] = [...(entries[name] ?? []), entry];
    }
    files = new Map(packed.map(({ chart: { name, version }, bytes }) => [`/${name}-${version}.tgz`, bytes]));
    files.set('/index.yaml', Buffer.from(stringify({ apiVersion: 'v1', entries })));
  };
  serve(charts);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    serve,
    asked,
    answer: (now) => {
      status = now;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

/** An Operator whose chart is in a repository. */
export const operatorFrom = (name: string, repository: string, more: Partial<Operator['spec']> = {}): Operator =>
  ({
    apiVersion: 'platform.company.com/v1',
    kind: 'Operator',
    metadata: { name },
    spec: { namespace: `${name}-system`, chart: { repository, name }, historyLimit: 20, ...more },
  }) as Operator;
