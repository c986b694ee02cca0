/** A developer of a team tries everything on everything. What the table of docs/teams.md does not allow is refused. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { GROUP, kinds, USABLE_BY_ANNOTATION } from '../../src/api/index.ts';
import { ApiError, type Client, type UnknownObject } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import {
  apiVersion,
  coreSecrets,
  create,
  createTeam,
  patient,
  resourceOf,
  whenCondition,
} from '../platform/support/setup.ts';
import { type GuardedPlatform, startGuardedPlatform } from './support/guarded-platform.ts';
import { type Answered, type Cell, everyRequest, isForbidden, type Place, sendAll, shown } from './support/matrix.ts';

const [own, other] = ['red', 'blue'];
let platform: GuardedPlatform;
let admin: Client;
let developer: Client;

beforeAll(async () => {
  platform = await startGuardedPlatform({ dispatches: true });
  admin = platform.client;
  developer = platform.as('ada');
  for (const name of [own, other]) {
    const rbac = { members: name === own ? ['ada'] : ['bob'] };
    await whenCondition(admin, await createTeam(admin, name, { rbac }), { status: 'True' });
    for (const kind of ['Application', 'Service', 'Database', 'Cache', 'Topic', 'Secret', 'PolicyException'])
      await create(admin, { kind, namespace: name, name: 'target', spec: specOf(kind, name) });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'target', namespace: name } };
    await admin.create(coreSecrets, secret);
  }
  for (const words of [
    ['apply', '-f', join(import.meta.dirname, '..', '..', 'manifests', 'rbac', 'team-admin.yaml')],
    ['create', 'rolebinding', 'team-admins', '-n', own, '--clusterrole=team-admin', '--user=tom'],
  ]) {
    const { code, stderr } = await platform.kubectl(words);
    if (code !== 0) throw new Error(stderr);
  }
  await eventually(() => developer.list(resourceOf('Service'), { namespace: own }), patient);
  await eventually(() => platform.as('tom').list(coreSecrets, { namespace: own }), patient);
});
afterAll(() => platform?.stop());

const owner = (name: string) => ({ owner: { kind: 'Team', name } });
/** A valid spec of a kind, owned by the team. */
const specOf = (kind: string, team: string): object => {
  const specs: Record<string, object> = {
    Service: { image: 'registry.company.com/app:1' },
    Database: { engine: 'postgresql' },
    PolicyException: {
      policies: [{ name: 'any' }],
      reason: 'test',
      requester: 'test',
      selector: { resourceTypes: ['ConfigMap'] },
    },
  };
  return kind === 'PolicyException' ? (specs[kind] ?? {}) : { ...specs[kind], ...owner(team) };
};

/** The verbs that a table of docs/teams.md allows in the namespace of the team, by resource and group. */
function documented(who: string): Map<string, ReadonlySet<string>> {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'teams.md'), 'utf8');
  const [, table = ''] = new RegExp(`\\*\\*Permissions of ${who}\\*\\*[^|]*((?:\\|.*\\n)+)`).exec(page) ?? [];
  const rows = table.trim().split('\n').slice(2);
  const allowed = new Map<string, ReadonlySet<string>>();
  for (const row of rows) {
    const [names = '', writes, reads] = row
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    if (names.startsWith('everything else')) expect([writes, reads]).toEqual(['no', 'no']);
    else
      for (const name of names.split(',').map((each) => each.trim().toLowerCase()))
        allowed.set(
          name === 'secrets of kubernetes' ? 'secrets.' : `${name.replace(' of the platform', '')}.${GROUP}`,
          new Set([
            ...(writes === 'yes' ? ['create', 'update', 'patch', 'delete'] : []),
            ...(reads === 'yes' ? ['get', 'list', 'watch'] : []),
          ]),
        );
  }
  return allowed;
}

/** What every authenticated user may do in any cluster: ask about their own rights. */
const isBasic = ({ group, resource, verb }: Cell): boolean =>
  verb === 'create' && /^(authorization|authentication)\.k8s\.io$/.test(group) && resource.startsWith('selfsubject');

const bodyOf = ({ group, resource, namespace = own, name }: Place): object => {
  if (group === '' && resource === 'secrets')
    return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } };
  const kind = kinds.find(({ plural }) => group === GROUP && plural === resource.split('/', 1)[0]);
  if (kind === undefined) return {};
  return { apiVersion, kind: kind.kind, metadata: { name, namespace }, spec: specOf(kind.kind, namespace) };
};

describe.each([
  { who: 'developers', user: 'ada', count: 2 * 10 + 3 * 3 },
  { who: 'team administrators', user: 'tom', count: 7 * 10 },
])('every verb on every kind and subresource, as $who', ({ who, user, count }) => {
  let answers: Answered[];
  const allowed = documented(who);
  const isAllowed = ({ group, resource, verb, namespace }: Cell): boolean =>
    namespace === own && allowed.get(`${resource}.${group}`)?.has(verb) === true;

  beforeAll(async () => {
    const cells = await everyRequest(admin, { namespaces: [own, other], name: 'target', bodyOf });
    answers = await sendAll(platform.as(user), cells);
  });

  test('the requests include all kinds of the platform and of Kubernetes, with their subresources', () => {
    const asked = new Set(answers.map(({ group, resource }) => `${resource}.${group}`));
    for (const { plural } of kinds) expect(asked).toContain(`${plural}.${GROUP}`);
    for (const each of ['services/status.platform.company.com', 'pods/exec.', 'secrets.', 'serviceaccounts/token.'])
      expect(asked).toContain(each);
    expect(asked).toContain('certificatesigningrequests/approval.certificates.k8s.io');
    expect(asked).toContain('deployments/scale.apps');
    expect(asked).toContain('namespaces/finalize.');
  });

  test('what is not in the documented table is refused', () => {
    const got = answers.filter((cell) => !isAllowed(cell) && !isBasic(cell) && !isForbidden(cell));
    expect(got.map(shown)).toEqual([]);
  });

  test('what is in the documented table is possible', () => {
    const missing = answers.filter(isAllowed).filter(({ status, form, verb, group }) => {
      // Custom resources have no strategic merge patch; a create meets the stored object.
      if (form === 'strategic-merge-patch') return status !== (group === GROUP ? 415 : 200);
      if (verb === 'create') return status !== 409;
      return status !== 200 && !(verb === 'update' && status === 409) && status !== 422;
    });
    expect(missing.map(shown)).toEqual([]);
    expect(answers.filter(isAllowed).length).toBe(count);
  });

  test('the rights that the API server lists are those of the table, without other verbs', async () => {
    const rights = async (namespace: string) => {
      const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
      const { text } = await platform.as(user).request({ method: 'POST', path, body });
      const { resourceRules } = JSON.parse(text).status as {
        resourceRules: { verbs: string[]; apiGroups: string[]; resources: string[] }[];
      };
      return resourceRules
        .flatMap(({ verbs, apiGroups, resources }) =>
          apiGroups.flatMap((group) => resources.flatMap((each) => verbs.map((verb) => `${verb} ${each}.${group}`))),
        )
        .filter((right) => !/^create selfsubject/.test(right))
        .sort();
    };
    const wanted = [...allowed].flatMap(([resource, verbs]) => [...verbs].map((verb) => `${verb} ${resource}`));
    expect(await rights(own)).toEqual(wanted.sort());
    expect(await rights(other)).toEqual([]);
    expect(await rights('kube-system')).toEqual([]);
    expect(await rights('kidp-system')).toEqual([]);
  });
});

test.each([
  { reason: 'a team administrator, in their namespace', user: 'tom', namespace: own, marked: true },
  { reason: 'a team administrator, in that of another team', user: 'tom', namespace: other, marked: false },
  { reason: 'a developer', user: 'ada', namespace: own, marked: false },
])('a Secret is marked as usable by $reason: $marked', async ({ user, namespace, marked }) => {
  const body = { metadata: { annotations: { [USABLE_BY_ANNOTATION]: 'target' } } };
  const mark = platform.as(user).patch(coreSecrets, { namespace, name: 'target' }, { type: 'merge', body });
  if (!marked) return expect(mark).rejects.toThrow(/cannot patch resource "secrets"/);
  expect((await mark).metadata.annotations).toEqual(body.metadata.annotations);
});

test.each([
  { reason: 'metrics of the API server', path: '/metrics' },
  { reason: 'profiles', path: '/debug/pprof/' },
  { reason: 'its configuration', path: '/configz' },
  { reason: 'logs of its machine', path: '/logs/' },
  {
    reason: 'one namespace by a field selector',
    path: `/apis/${apiVersion}/services`,
    query: 'metadata.namespace=red',
  },
  { reason: 'one object by a field selector', path: `/apis/${apiVersion}/databases`, query: 'metadata.name=target' },
])('refused in the whole cluster: $reason', async ({ path, query: fieldSelector }) => {
  const query = fieldSelector === undefined ? {} : { fieldSelector };
  expect(await developer.request({ method: 'GET', path, query })).toMatchObject({ status: 403 });
});

describe('a Service that the developer may write', () => {
  const services = resourceOf('Service');
  const target = { namespace: own, name: 'target' };
  const merge = (body: object) => developer.patch(services, target, { type: 'merge', body });
  const json = (op: 'add' | 'replace' | 'remove', path: string, value?: unknown) =>
    developer.patch(services, target, { type: 'json', body: [{ op, path, value }] });
  const make = (metadata: object, spec: object = specOf('Service', own), more: object = {}) =>
    developer.create(services, {
      apiVersion,
      kind: 'Service',
      metadata: { name: 'made', namespace: own, ...metadata },
      spec,
      ...more,
    } as unknown as UnknownObject);
  const apply = (over: { metadata?: object; spec?: object }) =>
    developer.apply(
      services,
      {
        apiVersion,
        kind: 'Service',
        metadata: { ...target, ...over.metadata },
        spec: { ...specOf('Service', own), ...over.spec },
      } as unknown as UnknownObject,
      { fieldManager: 'ada', force: true },
    );
  const toBlue = { spec: owner(other) };
  const label = 'platform.company.com/team';

  test.each<{ reason: string; attempt: () => Promise<unknown>; denied: RegExp }>([
    { reason: 'another owner, by a merge patch', attempt: () => merge(toBlue), denied: /owner/ },
    {
      reason: 'another owner, by a JSON patch',
      attempt: () => json('replace', '/spec/owner/name', other),
      denied: /owner/,
    },
    { reason: 'another owner, by apply', attempt: () => apply(toBlue), denied: /owner/ },
    { reason: 'no owner any more', attempt: () => json('remove', '/spec/owner'), denied: /owner/ },
    { reason: 'a new one of another team', attempt: () => make({}, { ...specOf('Service', other) }), denied: /owner/ },
    {
      reason: 'a new one in another namespace than the address names',
      attempt: async () => {
        const path = `/apis/${apiVersion}/namespaces/${own}/services`;
        const body = { apiVersion, kind: 'Service', metadata: { name: 'x', namespace: other }, spec: toBlue.spec };
        const { status, text } = await developer.request({ method: 'POST', path, body });
        if (status >= 300) throw new ApiError({ status, message: text } as never);
      },
      denied: /does not match the namespace/,
    },
    { reason: 'the label of another team', attempt: () => make({ labels: { [label]: other } }), denied: /want "red"/ },
    {
      reason: 'the abandoning of a cleanup',
      attempt: () => merge({ metadata: { annotations: { 'platform.company.com/abandon-cleanup': 'true' } } }),
      denied: /abandon-cleanup/,
    },
    {
      reason: 'a reserved label',
      attempt: () => merge({ metadata: { labels: { 'platform.company.com/any': 'x' } } }),
      denied: /reserved for the platform/,
    },
  ])('denied: $reason', async ({ attempt, denied }) => {
    await expect(attempt()).rejects.toThrow(denied);
  });

  const stored = () => admin.get<UnknownObject & { status?: object }>(services, target);
  test.each<{ reason: string; attempt: () => Promise<unknown> }>([
    { reason: 'the status, by a merge patch', attempt: () => merge({ status: { phase: 'ready', url: 'https://x' } }) },
    { reason: 'the status, by a JSON patch', attempt: () => json('add', '/status', { phase: 'ready' }) },
    {
      reason: 'the label of the team, by a merge patch',
      attempt: () => merge({ metadata: { labels: { [label]: other } } }),
    },
    { reason: 'the label of the team, removed', attempt: () => merge({ metadata: { labels: { [label]: null } } }) },
    { reason: 'the finalizer, removed', attempt: () => merge({ metadata: { finalizers: null } }) },
    { reason: 'the finalizer, by a JSON patch', attempt: () => json('replace', '/metadata/finalizers', []) },
    {
      reason: 'the time of its deletion',
      attempt: () => merge({ metadata: { deletionTimestamp: '2020-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 } }),
    },
    { reason: 'its UID and generation', attempt: () => merge({ metadata: { generation: 99, selfLink: 'x' } }) },
  ])('stays as it is: $reason', async ({ attempt }) => {
    const before = await stored();
    await attempt().catch((error: unknown) => expect(error).toBeInstanceOf(ApiError));
    const { metadata, status } = await stored();
    expect(status).toEqual(before.status);
    expect(metadata.labels?.[label]).toBe(own);
    expect(metadata.finalizers).toContain('platform.company.com/cleanup-resources');
    expect(metadata.deletionTimestamp).toBeUndefined();
    expect(metadata.generation).toBe(before.metadata.generation);
  });

  test('a new one with a status of its own does not get it', async () => {
    const status = { phase: 'ready', owner: { kind: 'Team', name: other }, bindings: [{ connectionSecret: 'x' }] };
    const made = await make({}, specOf('Service', own), { status });
    expect(JSON.stringify(made.status ?? {})).not.toMatch(/connectionSecret|blue|"ready"/);
  });
});
