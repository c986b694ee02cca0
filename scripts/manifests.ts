/**
 * Renders manifests/ from the chart in charts/operators, which is the one source: with Helm, and the values below. The kustomization.yaml
 * files are written by hand.
 *
 * `node scripts/manifests.ts --install FILE [--image REPOSITORY:TAG]` writes the CRDs and an installation into one file, for
 * `kubectl apply -f FILE`.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureAssets, renderProgress } from '../src/controlplane/index.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const chart = 'charts/operators';
const mark = `# Generated from ${chart} by npm run generate: change it there.\n`;

interface Rendering {
  readonly values: object;
  /** By file in manifests/: the templates it consists of, and what else its readers should know. */
  readonly files: Readonly<Record<string, { readonly templates: readonly string[]; readonly note?: string }>>;
}

const of = (...templates: readonly string[]) => ({ templates });

const renderings: readonly Rendering[] = [
  {
    values: { profile: 'platform', brokers: { kubernetes: null } },
    files: {
      'install/namespaces.yaml': of('namespaces'),
      'install/service-account.yaml': of('rbac/service-account'),
      'install/roles.yaml': of('rbac/roles'),
      'install/role-read.yaml': of('rbac/role-read'),
      'install/role-platform.yaml': of('reconcilers/role-platform'),
      'install/platform-admin.yaml': of('rbac/platform-admin'),
      'install/break-glass.yaml': of('rbac/break-glass'),
      'install/metrics.yaml': of('rbac/metrics'),
      'install/deployment.yaml': of('webhook/deployment', 'webhook/pod-disruption-budget'),
      'install/service.yaml': of('webhook/service'),
    },
  },
  {
    values: {
      profile: 'all',
      brokers: { kubernetes: null, reference: { type: 'kubernetes', nameOverride: 'kidp-broker' } },
      connections: { enabled: true },
      rollouts: { clusterKeys: { secretProviderClass: 'kidp-cluster-keys' } },
      rest: { enabled: true, issuer: 'https://login.example.com' },
      autoscaling: { enabled: true },
      // Addresses that are reserved for documentation.
      networkPolicy: {
        enabled: true,
        brokers: ['192.0.2.0/24'],
        kafka: { cidrs: ['198.51.100.0/24'] },
        mail: { cidrs: ['203.0.113.25/32'] },
      },
    },
    files: {
      'install/role-rollouts.yaml': of('reconcilers/role-rollouts'),
      'connections/rbac.yaml': of('reconcilers/role-connections'),
      'brokers/rbac.yaml': of('brokers/namespace', 'brokers/rbac'),
      'autoscaling/horizontal-pod-autoscaler.yaml': of('webhook/horizontal-pod-autoscaler'),
      'rbac/roles.yaml': of('rbac/rollout-users'),
      'rbac/bindings.yaml': of('rbac/rollout-groups'),
      'rbac/clusters.yaml': of('rbac/cluster-credentials'),
      'rbac/rest.yaml': of('reconcilers/role-rest'),
      'rbac/team-admin.yaml': of('rbac/team-admin'),
      'network/default-deny.yaml': of('network/default-deny'),
      'network/kidp.yaml': of('network/kidp'),
      'network/webhook-open.yaml': {
        templates: ['network/webhook'],
        note: 'webhook-callers.yaml is the other variant of this NetworkPolicy.',
      },
      'network/brokers.yaml': {
        templates: ['network/brokers'],
        note: '192.0.2.0/24 (brokers) and 198.51.100.0/24 (Kafka) are reserved for documentation: replace them.',
      },
      'network/rollouts.yaml': {
        templates: ['network/rollouts'],
        note: '203.0.113.25 (the mail server) is reserved for documentation: replace it.',
      },
    },
  },
  {
    values: {
      networkPolicy: {
        enabled: true,
        webhookCallers: [
          // The addresses of the API servers, or their subnets.
          { ipBlock: { cidr: '192.0.2.0/28' } },
          // The subnets of the nodes, for the probes of the kubelets.
          { ipBlock: { cidr: '198.51.100.0/24' } },
          // The konnectivity agents, if the API server calls through them.
          {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
            podSelector: { matchLabels: { 'k8s-app': 'konnectivity-agent' } },
          },
        ],
      },
    },
    files: {
      'network/webhook-callers.yaml': {
        templates: ['network/webhook'],
        note: [
          'Replace the peers with those of your cluster: the addresses of the API servers, the subnets of the nodes (for the probes of the',
          'kubelets, unless your CNI admits those), and the konnectivity agents, if the API server calls through them (k8s-app on GKE, app on',
          'AKS). Then list this file in kustomization.yaml instead of webhook-open.yaml: both have the same name, so one replaces the other. To',
          'go back, apply the kustomization with webhook-open.yaml.',
        ].join('\n# '),
      },
    },
  },
];

/** `manifestFiles` returns the path and the content of every generated manifest. */
export async function manifestFiles(): Promise<[path: string, content: string][]> {
  const helm = await helmProgram();
  return renderings.flatMap(({ values, files }) => {
    const documents = rendered(helm, values);
    return Object.entries(files).map(([file, { templates, note }]): [string, string] => {
      const found = templates.flatMap((template) => documents.get(`templates/${template}.yaml`) ?? []);
      if (found.length === 0)
        throw new Error(`manifests/${file}: ${templates.join(', ')} of ${chart} rendered nothing`);
      return [`manifests/${file}`, `${mark}${note === undefined ? '' : `# ${note}\n`}${found.join('---\n')}`];
    });
  });
}

async function helmProgram(): Promise<string> {
  const { helm } = await ensureAssets(['helm'], { onProgress: renderProgress(process.stderr) });
  return helm;
}

/** The documents of each template, in the order of Helm. */
function rendered(helm: string, values: object): Map<string, string[]> {
  const words = ['template', 'kidp', join(root, chart), '--values', '-'];
  const text = execFileSync(helm, words, { input: JSON.stringify(values), encoding: 'utf8' });
  const documents = new Map<string, string[]>();
  for (const part of `\n${text}`.split(/\n---\n/)) {
    const [, template, body] = /^# Source: [^/]+\/(\S+)\n([\s\S]*)$/.exec(part.trimStart()) ?? [];
    if (template === undefined || body === undefined) continue;
    documents.set(template, [...(documents.get(template) ?? []), `${body.trim()}\n`]);
  }
  return documents;
}

/** The CRDs first; kubectl cannot create objects of a kind that the same command defines, so there are no Brokers. */
async function installFile(image: string | undefined): Promise<string> {
  const helm = await helmProgram();
  const [, repository, tag] = /^(.+):([^:/]+)$/.exec(image ?? '') ?? [];
  const values = {
    brokers: { kubernetes: null },
    uninstall: { enabled: false },
    ...(repository === undefined ? {} : { image: { repository, tag } }),
  };
  const crds = readdirSync(join(root, 'crds')).map((file) => readFileSync(join(root, 'crds', file), 'utf8'));
  return [...crds, ...[...rendered(helm, values).values()].flat()]
    .map((document) => document.replace(/^---\n/, ''))
    .join('---\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { install: { type: 'string' }, image: { type: 'string' } } });
  if (values.install === undefined) {
    console.error('usage: node scripts/manifests.ts --install FILE [--image REPOSITORY:TAG]');
    process.exitCode = 2;
  } else writeFileSync(values.install, await installFile(values.image));
}
