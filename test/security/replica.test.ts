/** A replica in the hands of somebody else: every request that the ServiceAccount of manifests/install must not be able to send. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/runtime/index.ts';
import type { RawRequest } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { type Platform, platformNamespace, startPlatform } from '../admission/support/platform.ts';
import { manifests, patient } from '../platform/support/setup.ts';
import { everyRequest, isForbidden, sendAll, shown } from './support/matrix.ts';

const account = `system:serviceaccount:${platformNamespace}:kidp`;
const groups = ['system:serviceaccounts', `system:serviceaccounts:${platformNamespace}`, 'system:authenticated'];
let platform: Platform;
let replica: Client;

beforeAll(async () => {
  platform = await startPlatform();
  await kubectl(['apply', '-k', join(manifests, 'install')]);
  for (const namespace of ['team-backend', platformNamespace])
    await kubectl(['create', 'secret', 'generic', 'password', '-n', namespace, '--from-literal=password=hidden']);
  await kubectl(['create', 'serviceaccount', 'other', '-n', 'team-backend']);
  replica = platform.client.impersonate({ user: account, groups });
  await eventually(() => replica.request(reads('/api/v1/namespaces')).then(({ status }) => status === 200), patient);
});
afterAll(() => platform?.stop());

async function kubectl(words: readonly string[]): Promise<void> {
  const { code, stderr } = await platform.kubectl(words);
  if (code !== 0) throw new Error(stderr);
}

const reads = (path: string): RawRequest => ({ method: 'GET', path });
const posts = (path: string, body: object): RawRequest => ({ method: 'POST', path, query: { dryRun: 'All' }, body });
const merges = (path: string, body: object): RawRequest => ({
  method: 'PATCH',
  path,
  query: { dryRun: 'All' },
  contentType: 'application/merge-patch+json',
  body,
});
const removes = (path: string): RawRequest => ({ method: 'DELETE', path, query: { dryRun: 'All' } });

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const own = '/apis/platform.company.com/v1';
const apiVersion = 'rbac.authorization.k8s.io/v1';
const all = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
const role = (kind: string, rules: object[], namespace?: string) => ({
  apiVersion,
  kind,
  metadata: {
    name: 'mine',
    labels: { 'rbac.platform.company.com/aggregate-to-kidp-read': 'true' },
    ...(namespace === undefined ? {} : { namespace }),
  },
  rules,
});
const binding = (kind: string, to: string, namespace?: string) => ({
  apiVersion,
  kind,
  metadata: { name: 'mine', ...(namespace === undefined ? {} : { namespace }) },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: to },
  subjects: [{ kind: 'ServiceAccount', name: 'kidp', namespace: platformNamespace }],
});
const pod = (namespace: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'mine', namespace },
  spec: { containers: [{ name: 'a', image: 'a' }], serviceAccountName: 'other' },
});
const lease = (namespace: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'mine', namespace },
});
const tokenOf = (namespace: string, name: string) =>
  posts(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  });

describe('refused', () => {
  test.each<{ reason: string; request: RawRequest; refused?: RegExp }>([
    { reason: 'the Secrets of the cluster', request: reads('/api/v1/secrets') },
    { reason: 'the Secrets of a team', request: reads('/api/v1/namespaces/team-backend/secrets') },
    { reason: 'one Secret of a team', request: reads('/api/v1/namespaces/team-backend/secrets/password') },
    { reason: 'ConfigMaps of the system', request: reads('/api/v1/namespaces/kube-system/configmaps') },
    {
      reason: 'a Pod that mounts what it wants',
      request: posts('/api/v1/namespaces/team-backend/pods', pod('team-backend')),
    },
    {
      reason: 'a Pod next to itself',
      request: posts(`/api/v1/namespaces/${platformNamespace}/pods`, pod(platformNamespace)),
    },
    {
      reason: 'a command in a Pod',
      request: { method: 'POST', path: '/api/v1/namespaces/team-backend/pods/a/exec', query: { command: 'sh' } },
    },
    {
      reason: 'another image for itself',
      request: merges(`/apis/apps/v1/namespaces/${platformNamespace}/deployments/kidp`, {}),
    },
    { reason: 'a token of another ServiceAccount', request: tokenOf('team-backend', 'other') },
    { reason: 'a token of its own that outlives the Pod', request: tokenOf(platformNamespace, 'kidp') },
    {
      reason: 'a token by a Secret of that type in another namespace',
      request: posts('/api/v1/namespaces/team-backend/secrets', {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'mine', annotations: { 'kubernetes.io/service-account.name': 'other' } },
        type: 'kubernetes.io/service-account-token',
      }),
    },
    {
      reason: 'a ClusterRole, also one that is aggregated to it',
      request: posts(`${rbac}/clusterroles`, role('ClusterRole', all)),
    },
    { reason: 'more in a ClusterRole of its own', request: merges(`${rbac}/clusterroles/kidp`, { rules: all }) },
    {
      reason: 'a ClusterRoleBinding',
      request: posts(`${rbac}/clusterrolebindings`, binding('ClusterRoleBinding', 'cluster-admin')),
    },
    {
      reason: 'a Role with what it does not hold',
      request: posts(`${rbac}/namespaces/team-backend/roles`, role('Role', all, 'team-backend')),
      refused: /attempting to grant RBAC permissions not currently held/,
    },
    {
      reason: 'a Role that reads Secrets, in the system',
      request: posts(
        `${rbac}/namespaces/kube-system/roles`,
        role('Role', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }], 'kube-system'),
      ),
      refused: /attempting to grant RBAC permissions not currently held/,
    },
    {
      reason: 'a RoleBinding to a role that it does not hold',
      request: posts(
        `${rbac}/namespaces/team-backend/rolebindings`,
        binding('RoleBinding', 'cluster-admin', 'team-backend'),
      ),
      refused: /attempting to grant RBAC permissions not currently held/,
    },
    {
      reason: 'the break-glass group for itself',
      request: posts(`${rbac}/clusterrolebindings`, binding('ClusterRoleBinding', 'platform-admin')),
    },
    {
      reason: 'a client certificate',
      request: posts('/apis/certificates.k8s.io/v1/certificatesigningrequests', {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name: 'mine' },
        spec: { request: 'eA==', signerName: 'kubernetes.io/kube-apiserver-client', usages: ['client auth'] },
      }),
    },
    {
      reason: 'the schema of a kind',
      request: merges('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/policies.platform.company.com', {}),
    },
    {
      reason: 'the Lease of a node',
      request: posts('/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', lease('kube-node-lease')),
    },
    {
      reason: 'the webhooks of others',
      request: merges('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/theirs', {}),
    },
    {
      reason: 'an end of the native policies',
      request: removes('/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/theirs'),
    },
    { reason: 'a Namespace and all in it', request: removes('/api/v1/namespaces/team-backend') },
    { reason: 'a Policy of its own', request: posts(`${own}/policies`, {}) },
    { reason: 'no Policies any more', request: removes(`${own}/policies`) },
    {
      reason: 'an exception from a Policy',
      request: posts(`${own}/namespaces/policy-exceptions/policyexceptions`, {}),
    },
    { reason: 'a decision about an Approval', request: merges(`${own}/approvals/any`, { spec: { decisions: [] } }) },
    { reason: 'a member of a Team', request: posts(`${own}/teams`, {}) },
    { reason: 'a Broker with keys that it has', request: posts(`${own}/brokers`, {}) },
    { reason: 'metrics of the API server', request: reads('/metrics') },
  ])('$reason', async ({ request, refused = / cannot (\w+ resource |get path )/ }) => {
    const { status, text } = await replica.request(request);
    expect({ status, text }).toMatchObject({ status: 403, text: expect.stringMatching(refused) });
  });

  test.each([
    { reason: 'a cluster administrator', as: { user: 'root', groups: ['system:masters'] } },
    { reason: 'the break-glass group', as: { user: account, groups: ['kidp:break-glass'] } },
    { reason: 'another ServiceAccount', as: { user: 'system:serviceaccount:kube-system:default', groups: [] } },
  ])('impersonation of $reason', async ({ as }) => {
    const file = await platform.plane.kubeconfigFor({ name: account, groups: groups.slice(0, 2) });
    const words = ['get', 'namespaces', '--kubeconfig', file, '--as', as.user];
    const { code, stderr } = await platform.kubectl([...words, ...as.groups.flatMap((each) => ['--as-group', each])]);
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/cannot impersonate\S* resource/),
    });
  });
});

describe('allowed, so that the table above can fail', () => {
  test.each<{ reason: string; request: RawRequest }>([
    { reason: 'the Policies', request: reads(`${own}/policies`) },
    {
      reason: 'its own keys, and the kubeconfigs that only their private key opens',
      request: reads(`/api/v1/namespaces/${platformNamespace}/secrets`),
    },
    {
      reason: 'its Lease',
      request: posts(`/apis/coordination.k8s.io/v1/namespaces/${platformNamespace}/leases`, lease(platformNamespace)),
    },
    {
      reason: 'a Role of a team with what it holds itself',
      request: posts(
        `${rbac}/namespaces/team-backend/roles`,
        role(
          'Role',
          [{ apiGroups: ['platform.company.com'], resources: ['services'], verbs: ['get', 'create'] }],
          'team-backend',
        ),
      ),
    },
    { reason: 'a Namespace of a team', request: merges('/api/v1/namespaces/team-backend', {}) },
    // A known weakness, see docs/security/threat-model.md.
    {
      reason: 'a webhook under another name, which sees what is written',
      request: posts('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'mine' },
      }),
    },
  ])('$reason', async ({ request }) => {
    const { status, text } = await replica.request(request);
    expect({ status, text }).toMatchObject({ status: request.method === 'POST' ? 201 : 200 });
  });
});

test('beyond the kinds of the platform, nothing is written outside of its own namespace but what the table lists', async () => {
  const cells = await everyRequest(platform.client, {
    namespaces: ['team-backend'],
    name: 'password',
    bodyOf: () => ({}),
  });
  const writes = cells.filter(
    ({ group, verb, resource }) =>
      group !== 'platform.company.com' &&
      !['get', 'list', 'watch'].includes(verb) &&
      // Everybody may ask about themselves.
      !resource.startsWith('selfsubject'),
  );
  const got = (await sendAll(replica, writes)).filter((cell) => !isForbidden(cell));
  const kinds = [...new Set(got.map(({ verb, resource, group }) => `${verb} ${resource}.${group}`))].sort();
  expect({ kinds, shown: got.map(shown).slice(0, 3) }).toMatchObject({
    kinds: [
      'create events.events.k8s.io',
      'create mutatingwebhookconfigurations.admissionregistration.k8s.io',
      'create namespaces.',
      'create networkpolicies.networking.k8s.io',
      'create resourcequotas.',
      'create rolebindings.rbac.authorization.k8s.io',
      'create roles.rbac.authorization.k8s.io',
      'create subjectaccessreviews.authorization.k8s.io',
      'create tokenreviews.authentication.k8s.io',
      'create validatingwebhookconfigurations.admissionregistration.k8s.io',
      'delete resourcequotas.',
      'delete rolebindings.rbac.authorization.k8s.io',
      'delete roles.rbac.authorization.k8s.io',
      'patch events.events.k8s.io',
      'patch namespaces.',
      'patch networkpolicies.networking.k8s.io',
      'patch resourcequotas.',
      'patch rolebindings.rbac.authorization.k8s.io',
      'patch roles.rbac.authorization.k8s.io',
    ],
  });
});
