/** The chart in charts/operators, and the values that the tests render and install it with. */
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Helm } from '../../support/helm.ts';

export const root = join(import.meta.dirname, '..', '..', '..');
export const chart = join(root, 'charts', 'operators');

export interface Rendered {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

const clusterKeys = { secretProviderClass: 'kidp-cluster-keys' };

/** By golden file. */
export const examples: Readonly<Record<string, object>> = {
  platform: {},
  admission: { profile: 'admission' },
  'crd-gate': { profile: 'crd-gate' },
  rollouts: { profile: 'rollouts', rollouts: { clusterKeys } },
  all: { profile: 'all', rollouts: { clusterKeys } },
  /** Every value that changes something. */
  everything: {
    profile: 'all',
    environment: 'staging',
    image: {
      repository: 'registry.example.com/kidp',
      digest: `sha256:${'0'.repeat(64)}`,
      pullPolicy: 'Always',
      pullSecrets: ['registry'],
    },
    exceptionNamespaces: { names: ['policy-exceptions', 'more-exceptions'] },
    excludedNamespaces: ['istio-system'],
    autoscaling: { enabled: true },
    resources: { limits: { memory: '5Gi' } },
    priorityClassName: 'system-cluster-critical',
    nodeSelector: { 'kubernetes.io/os': 'linux' },
    tolerations: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' }],
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 1,
            preference: { matchExpressions: [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' }] },
          },
        ],
      },
    },
    podLabels: { team: 'platform' },
    podAnnotations: { 'example.com/note': 'kidp' },
    webhook: {
      failurePolicies: { namespaces: 'Ignore' },
      drainSeconds: 10,
      clientCA: { configMap: 'api-server-client-ca', names: ['kube-apiserver'] },
    },
    certificates: { source: 'certManager', certManager: { issuerRef: { name: 'internal', kind: 'ClusterIssuer' } } },
    crdGate: { allowUnused: true, incomplete: 'warn', history: 3 },
    breakGlass: { group: 'ops:break-glass' },
    reports: { api: 'wgpolicyk8s.io' },
    policyPacks: {
      platform: { enforcement: 'Warn' },
      'pod-security-baseline': { enforcement: 'AsWritten' },
      'pod-security-restricted': { enforcement: 'Audit' },
    },
    statusApi: { url: 'https://kidp.example.com', tlsSecret: 'status-tls', issuer: 'kidp-prod' },
    reservedNamespaces: ['default', 'kube-*', 'istio-*'],
    connections: { enabled: true },
    kafka: { bootstrapServers: ['kafka-0.example.com:9093', 'kafka-1.example.com:9093'], tlsSecret: 'kafka-tls' },
    brokers: {
      kubernetes: {
        type: 'kubernetes',
        replicas: 2,
        resources: { limits: { memory: '1Gi' } },
        images: { postgresql: 'registry.example.com/postgres:17' },
        kafkaTlsSecret: 'kafka-tls',
        prices: { currency: 'EUR', perHour: { Database: { small: 0.05, default: 0.05 } } },
        deploymentTargets: {
          'in-cluster': {
            provider: 'kubernetes',
            environment: 'production',
            parameters: { internalIngressClass: 'nginx', storageClass: 'fast' },
          },
        },
      },
      events: {
        type: 'kafka',
        channel: 'Kafka',
        kafkaTlsSecret: 'kafka-tls',
        deploymentTargets: { events: { provider: 'kafka', parameters: { topicPrefix: 'prod.' } } },
      },
    },
    rollouts: {
      clusterKeys,
      charts: { configMap: { name: 'operator-charts' } },
      settings: { maxConcurrent: 5 },
      smtp: { server: 'mail.example.com:587', from: 'kidp@example.com', credentialsSecret: 'smtp' },
    },
    rest: { enabled: true, issuer: 'https://login.example.com', groups: { ops: 'kidp:admin' } },
    otlp: { endpoint: 'http://collector.monitoring:4318', headersSecret: { name: 'otlp' } },
    allowedAddresses: ['169.254.10.10:443'],
    log: { level: 'debug' },
    networkPolicy: {
      enabled: true,
      apiServerPorts: [6443],
      webhookCallers: [{ ipBlock: { cidr: '192.0.2.0/28' } }],
      brokers: ['192.0.2.0/24'],
      kafka: { cidrs: ['198.51.100.0/24'], ports: [9093] },
      mail: { cidrs: ['203.0.113.25/32'] },
    },
    monitoring: {
      prometheusServiceAccount: { name: 'prometheus' },
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true },
    },
    uninstall: { finalizers: 'release' },
  },
};

/** Values as `-f FILE`, in the folder of Helm. */
export function valuesFile(helm: Helm, name: string, values: object): string {
  helm.write({ [`${name}.json`]: JSON.stringify(values) });
  return `${name}.json`;
}

export function template(helm: Helm, name: string, values: object) {
  return helm.helm(['template', 'kidp-operators', chart, '--values', valuesFile(helm, name, values)]);
}

export const objectsIn = (text: string): Rendered[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);
