/** Who may let a breaking change in: by Approval everywhere, by an annotation where it is not production. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Approval, approval } from '../../src/api/index.ts';
import type { Client, KubernetesObject, Resource, UnknownObject } from '../../src/runtime/index.ts';
import { uniqueName } from '../support/cluster.ts';
import {
  change,
  type Definition,
  define,
  digestIn,
  type GatePlane,
  refusalOf,
  size,
  startGatePlane,
  widgets,
} from './support/platform.ts';

const allowBreaking = 'platform.company.com/allow-breaking';
let plane: GatePlane;
let ada: Client;
let grace: Client;
let linus: Client;

beforeAll(async () => {
  plane = await startGatePlane();
  const crds = { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'] };
  const approvals = {
    apiGroups: ['platform.company.com'],
    resources: ['approvals'],
    verbs: ['get', 'list', 'create', 'patch', 'update'],
  };
  const write = { ...crds, verbs: ['get', 'list', 'create', 'patch', 'update', 'delete'] };
  await grant('ada', [write, approvals]);
  await grant('grace', [write, approvals, { ...crds, verbs: ['approve', 'allow-breaking'] }]);
  await grant('linus', [approvals, { ...crds, verbs: ['approve'] }]);
  [ada, grace, linus] = ['ada', 'grace', 'linus'].map((user) => plane.client.impersonate({ user })) as [
    Client,
    Client,
    Client,
  ];
});
afterAll(() => plane?.stop());

const rbac = (kind: string, plural: string): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced: false,
});

async function grant(user: string, rules: object[]): Promise<void> {
  const name = `gate-${user}`;
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const role = { apiVersion, kind: 'ClusterRole', metadata: { name }, rules };
  const binding = {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
  };
  await plane.client.create(rbac('ClusterRole', 'clusterroles'), role as KubernetesObject);
  await plane.client.create(rbac('ClusterRoleBinding', 'clusterrolebindings'), binding as KubernetesObject);
}

/** A definition of its own, what breaks it, and the digest that the denial prints. */
async function denied(): Promise<{
  stored: UnknownObject;
  plural: string;
  narrower: Definition;
  said: string;
  digest: string;
}> {
  const plural = uniqueName('gadget').replace('-', '');
  const stored = await define(plane.client, widgets(plural, size({})));
  const narrower = widgets(plural, size({ maximum: 10 }));
  const said = await refusalOf(() => change(ada, narrower));
  return { stored, plural, narrower, said, digest: digestIn(said) };
}

const annotated = (definition: Definition, value: string): Definition => ({
  ...definition,
  metadata: { ...definition.metadata, annotations: { [allowBreaking]: value } },
});

describe('outside production, the annotation', () => {
  beforeAll(async () => void (await plane.gate({ environment: 'staging' })));

  test('is printed with the digest of exactly this change', async () => {
    const { said, digest } = await denied();
    expect(said).toContain(`annotate it with ${allowBreaking}: "${digest}"`);
  });

  test('lets that change in, and not the next one', async () => {
    const { narrower, plural, digest } = await denied();
    expect(await refusalOf(() => change(grace, annotated(narrower, digest)))).toBe('');
    const next = await refusalOf(() => change(grace, annotated(widgets(plural, size({ maximum: 5 })), digest)));
    expect(next).toContain(`The annotation ${allowBreaking} names a different change`);
  });

  test('is of no use to a user without the verb', async () => {
    const { narrower, digest, stored } = await denied();
    const said = await refusalOf(() => change(ada, annotated(narrower, digest)));
    expect(said).toContain(
      `User "ada" does not hold the verb allow-breaking on customresourcedefinitions "${stored.metadata.name}"`,
    );
  });

  test('with another value does not count', async () => {
    const { narrower } = await denied();
    for (const value of ['true', `sha256:${'0'.repeat(64)}`, ''])
      expect(await refusalOf(() => change(grace, annotated(narrower, value)))).toContain('names a different change');
  });
});

describe('in production', () => {
  beforeAll(async () => void (await plane.gate()));

  test('the annotation does not count', async () => {
    const { narrower, digest, said } = await denied();
    expect(said).not.toContain('annotate it');
    const tried = await refusalOf(() => change(grace, annotated(narrower, digest)));
    expect(tried).toContain('has no effect because kidp runs with --environment production');
  });

  test('an Approval admits exactly this change, by any user, and not the next one', async () => {
    const { stored, narrower, plural, digest } = await denied();
    const { name } = await ask(ada, subjectOf(stored, digest)).then(({ metadata }) => metadata);
    expect(await refusalOf(() => change(ada, narrower))).toContain(`Approval ${name} is pending`);
    await decide(grace, name, 'Approve');
    const { code, stderr } = await plane.kubectl(
      ['--as=ada', 'apply', '--server-side', '--force-conflicts', '-f', '-'],
      narrower,
    );
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`allowed by Approval ${name}`) });
    const next = await refusalOf(() => change(ada, widgets(plural, size({ maximum: 5 }))));
    expect(next).toContain('1 breaking change');
    expect(next).not.toContain(name);
  });

  test.each([
    { reason: 'another digest', over: { digest: `sha256:${'1'.repeat(64)}` } },
    { reason: 'another UID: the definition was re-created', over: { uid: 'another' } },
    { reason: 'another name', over: { name: 'others.gate.example.com' } },
    { reason: 'another kind', over: { kind: 'OperatorDeployment' } },
  ])('an Approval of something else does not: $reason', async ({ over }) => {
    const { stored, narrower, digest } = await denied();
    const { metadata } = await ask(ada, { ...subjectOf(stored, digest), ...over });
    // A cluster administrator may approve anything.
    await decide(plane.client, metadata.name, 'Approve');
    expect(await refusalOf(() => change(ada, narrower))).toContain('1 breaking change');
  });

  test('a rejected Approval keeps it out, and says so', async () => {
    const { stored, narrower, digest } = await denied();
    const { name } = (await ask(ada, subjectOf(stored, digest))).metadata;
    await decide(grace, name, 'Reject');
    expect(await refusalOf(() => change(ada, narrower))).toContain(`Approval ${name} was rejected`);
  });

  test('two approvals are waited for where two are asked for', async () => {
    const { stored, narrower, digest } = await denied();
    const { name } = (await ask(ada, subjectOf(stored, digest), { requiredApprovals: 2 })).metadata;
    await decide(grace, name, 'Approve');
    expect(await refusalOf(() => change(ada, narrower))).toContain('is pending');
    await decide(linus, name, 'Approve');
    expect(await refusalOf(() => change(ada, narrower))).toBe('');
  });
});

describe('an Approval', () => {
  const subject = {
    kind: 'CustomResourceDefinition',
    name: 'x.example.com',
    uid: 'u',
    digest: `sha256:${'2'.repeat(64)}`,
  };
  let name: string;
  beforeEach(async () => {
    name = (await ask(ada, subject)).metadata.name;
  });
  const read = () => plane.client.get<Approval>(approval.resource, { name });

  test('says who asked, whatever its manifest says', async () => {
    const forged = await ask(ada, subject, { requester: 'grace' });
    expect(forged.spec.requester).toBe('ada');
  });

  test('says who decided and when, whatever the patch says', async () => {
    await patch(grace, name, [
      { decision: 'Approve', reason: 'Looked at it.', by: 'linus', at: '2020-01-01T00:00:00Z' },
    ]);
    const [decision] = (await read()).spec.decisions;
    expect(decision).toMatchObject({ decision: 'Approve', reason: 'Looked at it.', by: 'grace' });
    expect(Date.now() - Date.parse(decision?.at ?? '')).toBeLessThan(600_000);
  });

  test('cannot be decided by its requester', async () => {
    await grant('ada-approves', []);
    const own = (await ask(grace, subject)).metadata.name;
    expect(await refusalOf(() => decide(grace, own, 'Approve'))).toContain(
      'user "grace" requested this Approval and must not decide on it',
    );
  });

  test('cannot be decided without the verb', async () => {
    const own = (await ask(grace, subject)).metadata.name;
    expect(await refusalOf(() => decide(ada, own, 'Approve'))).toContain(
      'user "ada" does not hold the verb approve on customresourcedefinitions.apiextensions.k8s.io "x.example.com"',
    );
  });

  test('is decided once by each', async () => {
    await decide(grace, name, 'Approve');
    expect(await refusalOf(() => decide(grace, name, 'Reject'))).toContain('user "grace" has already decided');
  });

  test.each([
    { reason: 'a decision is removed', spec: { decisions: [] } },
    {
      reason: 'a decision is turned round',
      spec: { decisions: [{ decision: 'Reject', by: 'grace', at: '2026-01-31T12:00:00Z' }] },
    },
    { reason: 'the subject is another', spec: { subject: { ...subject, digest: `sha256:${'3'.repeat(64)}` } } },
    { reason: 'the requester is another', spec: { requester: 'grace' } },
    { reason: 'more approvals are needed', spec: { requiredApprovals: 2 } },
  ])('stays as it is: $reason', async ({ spec }) => {
    await decide(grace, name, 'Approve');
    const before = (await read()).spec;
    const said = await refusalOf(() =>
      plane.client.patch(approval.resource, { name }, { type: 'merge', body: { spec } }),
    );
    expect(said).toContain('approvals: ');
    expect((await read()).spec).toEqual(before);
  });

  test('does not come with decisions', async () => {
    const decisions = [{ decision: 'Approve', by: 'grace', at: '2026-01-31T12:00:00Z' }];
    expect(await refusalOf(() => ask(ada, subject, { decisions }))).toContain(
      'an Approval must be created without decisions',
    );
  });
});

const subjectOf = ({ metadata }: UnknownObject, digest: string) => ({
  kind: 'CustomResourceDefinition',
  name: metadata.name,
  uid: metadata.uid ?? '',
  digest,
});

const ask = (client: Client, subject: object, over: object = {}): Promise<Approval> =>
  client.create<Approval>(approval.resource, {
    apiVersion: 'platform.company.com/v1',
    kind: 'Approval',
    metadata: { name: uniqueName('approval') },
    spec: { subject, ...over },
  } as Approval);

const decide = (client: Client, name: string, decision: 'Approve' | 'Reject') => patch(client, name, [{ decision }]);

const patch = (client: Client, name: string, decisions: object[]) =>
  client.patch<Approval>(
    approval.resource,
    { name },
    {
      type: 'json',
      body: decisions.map((value) => ({ op: 'add', path: '/spec/decisions/-', value })),
    },
  );
