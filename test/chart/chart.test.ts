/** The chart without a cluster: what it renders, what its schema refuses, and that manifests/ and the chart agree with the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { finalizedKinds } from '../../src/cli/uninstall/run.ts';
import { type Helm, realHelm } from '../support/helm.ts';
import { chart, examples, objectsIn, type Rendered, root, template, valuesFile } from './support/chart.ts';

let helm: Helm;
beforeAll(async () => {
  helm = await realHelm();
});
afterAll(() => helm.remove());

describe.each(Object.entries(examples))('%s', (name, values) => {
  test('helm lint has nothing to say', async () => {
    const { stdout, code } = await helm.helm(['lint', '--strict', chart, '--values', valuesFile(helm, name, values)]);
    expect(stdout).toContain('0 chart(s) failed');
    expect(code).toBe(0);
  });

  test('renders what its golden file has', async () => {
    const { stdout, stderr, code } = await template(helm, name, values);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    await expect(stdout).toMatchFileSnapshot(join(import.meta.dirname, 'golden', `${name}.yaml`));
  });
});

test('a profile has no permissions that only others need (least privilege)', async () => {
  const roles = async (profile: string) => {
    const { stdout } = await template(helm, profile, examples[profile] ?? {});
    const named = objectsIn(stdout).filter(({ kind }) => kind === 'ClusterRole');
    return named.map(({ metadata }) => metadata.name).sort();
  };
  const always = ['kidp', 'kidp-metrics-reader', 'kidp-read', 'kidp-uninstall', 'platform-admin'];
  const policies = [...always, 'kidp-break-glass', 'kidp-read-platform'];
  const users = ['kidp-admin', 'kidp-environment-owner', 'kidp-operator', 'kidp-viewer'];
  const dispatch = ['kidp-broker-kubernetes', 'kidp-broker-kubernetes-registration', 'kidp-platform', 'team-admin'];
  expect(await roles('crd-gate')).toEqual(always.sort());
  expect(await roles('admission')).toEqual(policies.sort());
  expect(await roles('platform')).toEqual([...policies, ...dispatch].sort());
  expect(await roles('rollouts')).toEqual([...policies, ...users, 'kidp-rollouts'].sort());
  expect(await roles('all')).toEqual([...policies, ...dispatch, ...users, 'kidp-rollouts'].sort());
});

test('no profile may read all Secrets; connections.enabled asks for it', async () => {
  const grants = async (values: object) => {
    const { stdout } = await template(helm, 'grants', values);
    const roles = objectsIn(stdout) as (Rendered & { rules?: { apiGroups?: string[]; resources?: string[] }[] })[];
    return roles
      .filter(
        ({ kind, rules = [] }) =>
          kind === 'ClusterRole' &&
          rules.some(({ apiGroups = [], resources = [] }) => apiGroups.includes('') && resources.includes('secrets')),
      )
      .map(({ metadata }) => metadata.name);
  };
  // Beside the broker, which deploys Secrets into the namespaces of teams, and a role for users that is bound to nobody.
  expect(await grants({ brokers: { kubernetes: null } })).toEqual(['team-admin']);
  expect(await grants({ brokers: { kubernetes: null }, connections: { enabled: true } })).toEqual([
    'team-admin',
    'kidp-connections',
  ]);
});

test('the hook may list the kinds with finalizers, and no others', async () => {
  for (const [finalizers, verbs] of [
    ['', ['list']],
    ['release', ['list', 'get', 'patch']],
    ['delete', ['list', 'delete']],
  ]) {
    const { stdout } = await template(helm, 'hook', { uninstall: { finalizers } });
    const role = objectsIn(stdout).find(
      ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === 'kidp-uninstall',
    );
    expect(role).toMatchObject({
      rules: [
        { apiGroups: ['platform.company.com'], resources: finalizedKinds.map(({ plural }) => plural).sort(), verbs },
        { resources: ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'], verbs: ['delete'] },
      ],
    });
  }
});

test('everything that belongs to the hook is deleted with it', async () => {
  const { stdout } = await template(helm, 'hook', {});
  const hooks = objectsIn(stdout).filter(({ metadata }) => metadata.name === 'kidp-uninstall');
  expect(hooks.map(({ kind }) => kind).sort()).toEqual([
    'ClusterRole',
    'ClusterRoleBinding',
    'Job',
    'Role',
    'RoleBinding',
    'ServiceAccount',
  ]);
  for (const { metadata } of hooks) {
    expect(metadata.annotations).toMatchObject({
      'helm.sh/hook': 'pre-delete',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded',
    });
  }
});

test('the version of the chart is that of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({ version, appVersion: version });
});

describe('bad values are refused with a sentence', () => {
  test.each<{ reason: string; values: object; message: RegExp }>([
    {
      reason: 'a profile that does not exist',
      values: { profile: 'everything' },
      message: /at '\/profile': value must be one of 'platform', 'admission', 'crd-gate', 'rollouts', 'all'/,
    },
    {
      reason: 'a misspelt value',
      values: { replicaCount: 3 },
      message: /additional properties 'replicaCount' not allowed/,
    },
    {
      reason: 'a misspelt value inside',
      values: { webhook: { failurepolicy: 'Ignore' } },
      message: /at '\/webhook': additional properties 'failurepolicy' not allowed/,
    },
    { reason: 'text for a number', values: { replicas: 'two' }, message: /at '\/replicas': got string, want integer/ },
    { reason: 'no replicas', values: { replicas: 0 }, message: /at '\/replicas': minimum: got 0, want 1/ },
    {
      reason: 'an unknown failure policy',
      values: { webhook: { failurePolicies: { crds: 'ignore' } } },
      message: /at '\/webhook\/failurePolicies\/crds': value must be one of 'Fail', 'Ignore'/,
    },
    {
      reason: 'an unknown webhook',
      values: { webhook: { failurePolicies: { policies: 'Ignore' } } },
      message: /at '\/webhook\/failurePolicies': additional properties 'policies' not allowed/,
    },
    {
      reason: 'a Kafka server without a port',
      values: { kafka: { bootstrapServers: ['kafka.example.com'] } },
      message: /at '\/kafka\/bootstrapServers\/0': 'kafka.example.com' does not match pattern/,
    },
    {
      reason: 'a status URL without TLS',
      values: { statusApi: { url: 'http://kidp.example.com' } },
      message: /at '\/statusApi\/url'.*does not match pattern '\^\(https:/,
    },
    {
      reason: 'a broker without a type',
      values: { brokers: { aws: { replicas: 1 } } },
      message: /at '\/brokers\/aws'[\s\S]*missing property 'type'/,
    },
    {
      reason: 'an unknown enforcement',
      values: { policyPacks: { platform: { enforcement: 'Enforce' } } },
      message:
        /at '\/policyPacks\/platform\/enforcement': value must be one of '', 'AsWritten', 'Audit', 'Warn', 'Deny'/,
    },
    {
      reason: 'a pack that does not exist',
      values: { policyPacks: { pci: { enforcement: 'Deny' } } },
      message: /at '\/policyPacks': additional properties 'pci' not allowed/,
    },
    {
      reason: 'a break-glass group that contains everybody',
      values: { breakGlass: { group: 'system:authenticated' } },
      message: /at '\/breakGlass\/group'/,
    },
    {
      reason: 'an unknown answer of the uninstall hook',
      values: { uninstall: { finalizers: 'remove' } },
      message: /at '\/uninstall\/finalizers': value must be one of '', 'release', 'delete'/,
    },
    {
      reason: 'rollouts without keys',
      values: { profile: 'rollouts' },
      message:
        /profile rollouts seals kubeconfigs of clusters: set exactly one of rollouts\.clusterKeys\.secretProviderClass/,
    },
    {
      reason: 'two sources of keys',
      values: { profile: 'all', rollouts: { clusterKeys: { secretProviderClass: 'keys', command: '/bin/keys' } } },
      message: /set exactly one of rollouts\.clusterKeys/,
    },
    {
      reason: 'keys in a Secret',
      values: { profile: 'all', rollouts: { clusterKeys: { volume: { secret: { secretName: 'keys' } } } } },
      message: /rollouts\.clusterKeys\.volume is a Secret: .*Use a volume of a key store/,
    },
    {
      reason: 'the REST API without rollouts',
      values: { rest: { enabled: true, issuer: 'https://login.example.com' } },
      message: /rest\.enabled is true, but profile platform runs no rollouts: set profile to rollouts or all/,
    },
    {
      reason: 'the REST API without a token issuer',
      values: { ...examples.rollouts, rest: { enabled: true } },
      message: /rest\.enabled is true: set rest\.issuer/,
    },
    {
      reason: 'cert-manager without an issuer',
      values: { certificates: { source: 'certManager' } },
      message: /set certificates\.certManager\.issuerRef\.name/,
    },
    {
      reason: 'own certificates without a Secret',
      values: { certificates: { source: 'secret' } },
      message: /set certificates\.secretName to a Secret with tls\.crt, tls\.key and ca\.crt/,
    },
    {
      reason: 'a policy pack where nothing evaluates policies',
      values: { profile: 'crd-gate', policyPacks: { platform: { enforcement: 'Deny' } } },
      message: /profile crd-gate evaluates no policies: choose another profile/,
    },
    {
      reason: 'a broker on Kafka without Kafka',
      values: { brokers: { kubernetes: { channel: 'Kafka' } } },
      message: /brokers\.kubernetes\.channel is Kafka: set kafka\.bootstrapServers/,
    },
    {
      reason: 'a broker without a certificate for Kafka',
      values: { kafka: { bootstrapServers: ['kafka:9093'], tlsSecret: 'kafka-tls' } },
      message: /kafka\.tlsSecret is set: also set brokers\.kubernetes\.kafkaTlsSecret/,
    },
    {
      reason: 'mail without a sender',
      values: { ...examples.rollouts, rollouts: { clusterKeys: { command: '/keys' }, smtp: { server: 'mail:587' } } },
      message: /also set rollouts\.smtp\.from/,
    },
  ])('$reason', async ({ values, message }) => {
    const { code, stderr } = await template(helm, 'bad', values);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
  });
});
