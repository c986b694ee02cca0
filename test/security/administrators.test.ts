/** Administrators of a team and of the platform, and authors of policies, who try to do more than is theirs. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Approval, approval, policyException, policy as policyKind } from '../../src/api/index.ts';
import { ApiError, type Client, type UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { configMap, configMaps, policy, refusal } from '../admission/support/platform.ts';
import {
  apiVersion,
  coreSecrets,
  create,
  createTeam,
  patient,
  quotas,
  resourceOf,
  roleBindings,
  whenCondition,
} from '../platform/support/setup.ts';
import { type GuardedPlatform, startGuardedPlatform } from './support/guarded-platform.ts';
import { everyRequest, isForbidden, sendAll, shown } from './support/matrix.ts';

let platform: GuardedPlatform;
let admin: Client;

beforeAll(async () => {
  platform = await startGuardedPlatform({ dispatches: true });
  admin = platform.client;
  for (const name of ['red', 'blue']) {
    const quota = { 'count/caches.platform.company.com': '1' };
    await whenCondition(admin, await createTeam(admin, name, { quota }), { status: 'True' });
    await admin.create(coreSecrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'password', namespace: name },
      stringData: { password: `hidden-${name}` },
    } as unknown as UnknownObject);
  }
  // What Kubernetes has for an administrator of a namespace, before a controller aggregates it.
  for (const role of ['admin', 'edit', 'view'])
    await bind('rolebinding', role, 'tia', `system:aggregate-to-${role}`, ['-n', 'red']);
  await kubectl(['create', 'clusterrole', 'everything-of-a-team', '--verb=*', '--resource=*.platform.company.com']);
  await bind('rolebinding', 'everything', 'tia', 'everything-of-a-team', ['-n', 'red']);
  await bind('clusterrolebinding', 'pat', 'pat', 'platform-admin');
  await kubectl(['create', 'clusterrole', 'policy-author', '--verb=*', '--resource=policies.platform.company.com']);
  await bind('clusterrolebinding', 'paula', 'paula', 'policy-author');
  await eventually(() => platform.as('tia').list(coreSecrets, { namespace: 'red' }), patient);
  await eventually(() => platform.as('paula').list(policyKind.resource), patient);
});
afterAll(() => platform?.stop());

async function kubectl(words: readonly string[]): Promise<void> {
  const { code, stderr } = await platform.kubectl(words);
  if (code !== 0) throw new Error(stderr);
}
const bind = (kind: string, name: string, user: string, role: string, more: readonly string[] = []) =>
  kubectl(['create', kind, name, `--clusterrole=${role}`, `--user=${user}`, ...more]);
const attempt = (request: () => Promise<unknown>): Promise<string> =>
  request().then(
    () => '',
    (error: unknown) => {
      if (error instanceof ApiError) return error.message;
      throw error;
    },
  );

describe('a team administrator', () => {
  const tia = () => platform.as('tia');

  test('reaches nothing of another team or of the cluster, by any verb', async () => {
    const cells = await everyRequest(admin, { namespaces: ['red', 'blue'], name: 'password', bodyOf: () => ({}) });
    const answers = await sendAll(
      tia(),
      cells.filter(({ namespace }) => namespace !== 'red'),
    );
    const got = answers.filter(
      (cell) =>
        !isForbidden(cell) &&
        !cell.resource.startsWith('selfsubject') &&
        // To see their own Namespace is part of the role.
        !(/^namespaces(\/status)?$/.test(cell.resource) && cell.verb === 'get'),
    );
    expect(got.map(shown)).toEqual([]);
  });

  const binding = (namespace: string, kind: string, name: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'mine', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'tia' }],
  });
  test.each<{ reason: string; request: () => Promise<unknown>; refused: RegExp }>([
    {
      reason: 'a larger quota',
      request: () =>
        tia().patch(
          quotas,
          { namespace: 'red', name: 'team-quota' },
          { type: 'merge', body: { spec: { hard: { 'count/caches.platform.company.com': '99' } } } },
        ),
      refused: /cannot patch resource "resourcequotas"/,
    },
    {
      reason: 'another member of the Team',
      request: () =>
        tia().patch(
          resourceOf('Team'),
          { name: 'red' },
          { type: 'merge', body: { spec: { rbac: { members: ['x'] } } } },
        ),
      refused: /cannot patch resource "teams"/,
    },
    {
      reason: 'the rights of a cluster administrator in their own namespace',
      request: () => tia().create(roleBindings, binding('red', 'ClusterRole', 'cluster-admin') as UnknownObject),
      refused: /attempting to grant RBAC permissions not currently held/,
    },
    {
      reason: 'an owner of another team',
      request: () =>
        create(tia(), {
          kind: 'Database',
          namespace: 'red',
          name: 'theirs',
          spec: { engine: 'postgresql', owner: { kind: 'Team', name: 'blue' } },
        }),
      refused: /owner/,
    },
  ])('refused: $reason', async ({ request, refused }) => {
    expect(await attempt(request)).toMatch(refused);
  });

  test('a PolicyException has no effect in their own namespace, and one where exceptions apply is refused', async () => {
    const rule = policy('no-marks', ['core/v1/ConfigMap'], "!has(object.data) || !('mark' in object.data)");
    await admin.create(policyKind.resource, rule);
    const marked = () => refusal(admin, configMaps, configMap('marked', { mark: 'x' }, { namespace: 'red' }));
    await eventually(async () => expect(await marked()).toContain('no-marks'), patient);
    const exception = (namespace: string) => ({
      apiVersion,
      kind: 'PolicyException',
      metadata: { name: 'mine', namespace },
      spec: {
        policies: [{ name: 'no-marks' }],
        selector: { resourceTypes: ['core/v1/ConfigMap'] },
        reason: 'test',
        requester: 'tia',
      },
    });
    await tia().create(policyException.resource, exception('red') as UnknownObject);
    expect(
      await attempt(() => tia().create(policyException.resource, exception('policy-exceptions') as UnknownObject)),
    ).toMatch(/cannot create resource "policyexceptions"/);
    // By then the exception of their own has been seen, too: this one comes after it.
    await admin.create(policyException.resource, {
      ...exception('policy-exceptions'),
      metadata: { name: 'other', namespace: 'policy-exceptions' },
      spec: { ...exception('x').spec, selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: ['blue'] } },
    } as UnknownObject);
    const inBlue = () => refusal(admin, configMaps, configMap('marked', { mark: 'x' }, { namespace: 'blue' }));
    await eventually(async () => expect(await inBlue()).toBe(''), patient);
    expect(await marked()).toContain('no-marks');
    await admin.delete(policyKind.resource, { name: 'no-marks' });
  });

  const bindingTo = (namespace: string, connectionSecret: string) => ({
    kind: 'Database',
    namespace,
    name: 'users',
    connectionSecret,
    revision: '1',
  });
  test.each<{ reason: string; name: string; dependencies?: object; bindings: object[] }>([
    { reason: 'of another team', name: 'forger', bindings: [bindingTo('blue', 'password')] },
    { reason: 'of the own team', name: 'own-forger', bindings: [bindingTo('red', 'password')] },
    {
      reason: 'beside dependencies',
      name: 'depending-forger',
      dependencies: { databaseSelector: { matchLabels: { a: 'b' }, expect: 'Any' } },
      bindings: [bindingTo('blue', 'password'), bindingTo('red', 'password')],
    },
  ])('a forged binding in a status is removed and brings no Secret: $reason', async ({ name, bindings, ...more }) => {
    const { dependencies = {} } = more;
    const spec = { image: 'registry.company.com/app:1', owner: { kind: 'Team', name: 'red' }, dependencies };
    await create(tia(), { kind: 'Service', namespace: 'red', name, spec });
    const key = { namespace: 'red', name };
    const body = { status: { bindings, connectionSecret: { name: 'password', revision: '1' } } };
    await tia().patch(resourceOf('Service'), key, { type: 'merge', body }, { subresource: 'status' });
    const stored = () => admin.get<UnknownObject & { status?: { bindings?: object[] } }>(resourceOf('Service'), key);
    await eventually(async () => expect((await stored()).status?.bindings ?? []).toEqual([]), patient);
    const { items } = await admin.list<UnknownObject & { data?: Record<string, string> }>(coreSecrets);
    const found = items.filter(({ data }) => Object.values(data ?? {}).some((value) => atob(value) === 'hidden-blue'));
    expect(found.map(({ metadata }) => metadata.namespace)).toEqual(['blue']);
  });

  test('a forged connection in the status of a Database is not copied to the Services that use it', async () => {
    const labels = { app: 'forged' };
    const spec = { engine: 'postgresql', owner: { kind: 'Team', name: 'red' } };
    await create(tia(), { kind: 'Database', namespace: 'red', name: 'forged', labels, spec });
    const body = { status: { phase: 'ready', connectionSecret: { name: 'password', revision: '1' } } };
    const key = { namespace: 'red', name: 'forged' };
    await tia().patch(resourceOf('Database'), key, { type: 'merge', body }, { subresource: 'status' });
    const user = await create(tia(), {
      kind: 'Service',
      namespace: 'red',
      name: 'reader',
      spec: {
        image: 'registry.company.com/app:1',
        owner: { kind: 'Team', name: 'red' },
        dependencies: { databaseSelector: { matchLabels: labels } },
      },
    });
    await whenCondition(admin, user, { type: 'DependenciesBound', status: 'False', reason: 'DependencyNotReady' });
    const { items } = await admin.list<UnknownObject & { data?: Record<string, string> }>(coreSecrets);
    const found = items.filter(({ data }) => Object.values(data ?? {}).some((value) => atob(value) === 'hidden-red'));
    expect(found.map(({ metadata }) => metadata.name)).toEqual(['password']);
  });
});

describe('a platform administrator', () => {
  const pat = (groups: string[] = []) =>
    admin.impersonate({ user: 'pat', groups: [...groups, 'system:authenticated'] });
  const subject = { kind: 'OperatorDeployment', name: 'greeter', uid: '1', digest: `sha256:${'0'.repeat(64)}` };
  const ask = (name: string, over: object = {}) =>
    pat().create<Approval>(approval.resource, {
      apiVersion,
      kind: 'Approval',
      metadata: { name },
      spec: { subject, requester: 'somebody', requiredApprovals: 1, decisions: [], ...over },
    } as unknown as Approval);
  const decide = (client: Client, name: string, more: { subresource?: 'status' } = {}) =>
    client.patch<Approval>(
      approval.resource,
      { name },
      {
        type: 'merge',
        body: { spec: { decisions: [{ decision: 'Approve', by: 'grace', at: '2026-01-01T00:00:00Z' }] } },
        ...more,
      },
    );
  beforeAll(async () => void (await ask('own')));

  test.each<{ reason: string; request: () => Promise<unknown>; refused: RegExp }>([
    {
      reason: 'a decision on their own request',
      request: () => decide(pat(), 'own'),
      refused: /must not decide on it/,
    },
    {
      reason: 'the same with other groups',
      request: () => decide(pat(['kidp:admin', 'kidp:environment-owner:Production']), 'own'),
      refused: /must not decide on it/,
    },
    {
      reason: 'a request that comes decided',
      request: () => ask('decided', { decisions: [{ decision: 'Approve', by: 'grace', at: '2026-01-01T00:00:00Z' }] }),
      refused: /must be created without decisions/,
    },
    {
      reason: 'a subject with the digest of another change',
      request: () =>
        pat().patch(
          approval.resource,
          { name: 'own' },
          { type: 'merge', body: { spec: { subject: { ...subject, digest: `sha256:${'1'.repeat(64)}` } } } },
        ),
      refused: /approvals: /,
    },
    {
      reason: 'Secrets of a team',
      request: () => pat().get(coreSecrets, { namespace: 'red', name: 'password' }),
      refused: /cannot get resource "secrets"/,
    },
    {
      reason: 'a token of the platform',
      request: async () => {
        const path = '/api/v1/namespaces/kidp-system/serviceaccounts/kidp/token';
        const { status, text } = await pat().request({ method: 'POST', path, body: { spec: {} } });
        expect(status).toBe(403);
        return Promise.reject(new ApiError({ status, message: text } as never));
      },
      refused: /./,
    },
  ])('refused: $reason', async ({ request, refused }) => {
    expect(await attempt(request)).toMatch(refused);
  });

  test('a decision through the status subresource is not stored', async () => {
    await attempt(() => decide(pat(), 'own', { subresource: 'status' }));
    const { spec } = await admin.get<Approval>(approval.resource, { name: 'own' });
    expect(spec).toMatchObject({ requester: 'pat', decisions: [] });
  });
});

describe('a policy author', () => {
  const paula = () => platform.as('paula');
  const reads = (name: string, over: object) =>
    policy(name, ['core/v1/ConfigMap'], 'false', {
      spec: over,
      rule: { messageExpression: "'found ' + string(found.data.password)" },
    });
  const context = [{ name: 'found', apiVersion: 'v1', kind: 'Secret', resourceName: 'password', namespace: 'blue' }];

  test.each<{ reason: string; over: object; refused: RegExp }>([
    {
      reason: 'one Secret as context',
      over: { context },
      refused: /spec.context\[0\] reads Secret password in namespace blue/,
    },
    {
      reason: 'all Secrets as context',
      over: { context: [{ name: 'found', apiVersion: 'v1', kind: 'Secret' }] },
      refused: /all Secrets in all namespaces/,
    },
    {
      reason: 'a Secret as params',
      over: { params: { apiVersion: 'v1', kind: 'Secret', name: 'password', namespace: 'blue' } },
      refused: /spec.params reads Secret password in namespace blue, which user "paula" must not get/,
    },
    {
      reason: 'another kind',
      over: { context: [{ name: 'found', apiVersion: 'platform.company.com/v1', kind: 'Cluster' }] },
      refused: /spec.context\[0\] reads all Clusters, which user "paula" must not list/,
    },
  ])('cannot have a policy print what they cannot read: $reason', async ({ over, refused }) => {
    expect(await attempt(() => paula().create(policyKind.resource, reads('leak', over), { dryRun: true }))).toMatch(
      refused,
    );
    // Who can read Secrets may.
    expect(await attempt(() => admin.create(policyKind.resource, reads('leak', over), { dryRun: true }))).toBe('');
  });

  test.each([
    '/v1',
    '/',
    'v1/',
    'core//v1',
  ])('cannot spell the version of Secrets in another way: %s', async (version) => {
    const over = { context: [{ name: 'found', apiVersion: version, kind: 'Secret' }] };
    for (const client of [paula(), admin])
      expect(await attempt(() => client.create(policyKind.resource, reads('leak', over), { dryRun: true }))).toMatch(
        /spec.context\[0\].apiVersion/,
      );
  });

  const outside = { exclude: { resourceTypes: ['core/v1/Secret'] } };
  test.each<{ reason: string; types: string[]; spec?: object; paulaGets: RegExp; patGets: RegExp }>([
    {
      reason: 'Secrets',
      types: ['core/v1/Secret'],
      paulaGets: /selects Secrets in all namespaces, which user "paula" must not list/,
      patGets: /selects Secrets/,
    },
    {
      reason: 'Secrets of one namespace',
      types: ['core/v1/Secret'],
      spec: { selector: { resourceTypes: ['core/v1/Secret'], namespaces: ['blue'] } },
      paulaGets: /selects Secrets in namespace blue/,
      patGets: /selects Secrets/,
    },
    { reason: 'all kinds', types: ['*'], paulaGets: /selects Secrets/, patGets: /^$/ },
    { reason: 'all kinds of the core group', types: ['core/v1/*'], paulaGets: /selects Secrets/, patGets: /^$/ },
    { reason: 'all kinds except Secrets', types: ['*'], spec: outside, paulaGets: /^$/, patGets: /^$/ },
    {
      reason: 'the namespaces of the system',
      types: ['core/v1/ConfigMap'],
      spec: { selector: { resourceTypes: ['core/v1/ConfigMap'], includeSystemNamespaces: true } },
      paulaGets: /includeSystemNamespaces selects the namespaces of the system, which user "paula" must not select/,
      patGets: /^$/,
    },
  ])('selects only what they may see, and a platform administrator all: $reason', async (row) => {
    const object = policy('oracle', row.types, 'false', { spec: row.spec ?? {} });
    const by = (client: Client) => attempt(() => client.create(policyKind.resource, object, { dryRun: true }));
    expect(await by(paula())).toMatch(row.paulaGets);
    const pat = await by(platform.as('pat'));
    expect(pat).toMatch(row.patGets);
    // Members of a group get their rights from it.
    const masters = admin.impersonate({ user: 'paula', groups: ['system:masters', 'system:authenticated'] });
    expect(await by(masters)).toBe('');
  });

  test('cannot change the message of a policy that reads Secrets, but can change its labels', async () => {
    const rule = { name: 'only', expression: 'true' };
    await admin.create(policyKind.resource, {
      ...reads('reader', { context }),
      spec: { context, selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: ['none'] }, rules: [rule] },
    } as UnknownObject);
    const change = (body: object) => paula().patch(policyKind.resource, { name: 'reader' }, { type: 'merge', body });
    expect(await attempt(() => change({ spec: { rules: [{ ...rule, messageExpression: 'string(found)' }] } }))).toMatch(
      /Secret password/,
    );
    expect(await attempt(() => change({ metadata: { labels: { a: 'b' } } }))).toBe('');
    await admin.delete(policyKind.resource, { name: 'reader' });
  });

  test('does not stop the cluster: a policy that denies everything leaves out kube-system and the platform', async () => {
    await paula().create(policyKind.resource, policy('nothing', ['*'], 'false', { spec: outside }));
    const denied = (namespace: string) => refusal(admin, configMaps, configMap('any', {}, { namespace }));
    await eventually(async () => expect(await denied('default')).toContain('nothing'), patient);
    for (const namespace of ['kube-system', 'kidp-system']) expect(await denied(namespace)).toBe('');
    // It can be removed, and the platform goes on reporting.
    await paula().delete(policyKind.resource, { name: 'nothing' });
    await eventually(async () => expect(await denied('default')).toBe(''), patient);
  });

  test('a mutation cannot move an object to another team, nor keep the finalizer off', async () => {
    const mutate = policy('mutate', ['Service'], 'true', {
      spec: {
        rules: undefined,
        mutations: [
          {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression:
                "[JSONPatch{op: 'add', path: '/spec/owner', value: {'kind': 'Team', 'name': 'blue'}}, JSONPatch{op: 'add', path: '/metadata/finalizers', value: []}]",
            },
          },
        ],
      },
    });
    await paula().create(policyKind.resource, mutate);
    const spec = { image: 'registry.company.com/app:1', owner: { kind: 'Team', name: 'red' } };
    const made = () =>
      create(admin, { kind: 'Service', namespace: 'red', name: `m-${Math.random().toString(36).slice(2)}`, spec });
    await eventually(async () => expect(await attempt(made)).toMatch(/owner/), patient);
    await paula().delete(policyKind.resource, { name: 'mutate' });
  });
});
