/**
 * The CRD gate reads stored objects with rights of its own. A user, or a forged review, must not learn from its answers what the user
 * cannot read.
 */
import { request as httpsRequest } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Admission, startAdmission } from '../../src/admission/index.ts';
import type { Client, UnknownObject } from '../../src/runtime/index.ts';
import { type ClientAuthority, issueAuthority, issueLeaf } from '../../src/runtime/internal.ts';
import { platformNamespace } from '../admission/support/platform.ts';
import {
  change,
  type Definition,
  define,
  type GatePlane,
  objectOf,
  refusalOf,
  resourceOf,
  startGatePlane,
  widgets,
} from '../crd-gate/support/platform.ts';

const secretSize = 73_519;
const size = (bounds: object): object => ({ type: 'object', properties: { size: { type: 'integer', ...bounds } } });
const before = widgets('vaults', size({}));
const narrower = widgets('vaults', size({ maximum: 10 }));

let plane: GatePlane;
let live: UnknownObject;
beforeAll(async () => {
  plane = await startGatePlane();
  await plane.gate();
  const { client } = plane;
  live = await define(client, before);
  await client.create(resourceOf(before), objectOf(before, 'gold', { size: secretSize }, 'team-backend'));
  const role = (name: string, rules: object[]) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  });
  const roles = {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    plural: 'clusterroles',
    kind: 'ClusterRole',
    namespaced: false,
  };
  const bindings = { ...roles, plural: 'clusterrolebindings', kind: 'ClusterRoleBinding' };
  const local = { ...roles, plural: 'rolebindings', kind: 'RoleBinding', namespaced: true };
  await client.create(
    roles,
    role('crd-author', [
      { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ['*'] },
    ]),
  );
  await client.create(
    roles,
    role('vault-reader', [{ apiGroups: [before.spec.group], resources: ['vaults'], verbs: ['get'] }]),
  );
  const bind = (name: string, users: readonly string[]) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: users.map((user) => ({ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user })),
  });
  await client.create(bindings, {
    ...bind('crd-author', ['author', 'neighbour', 'reader']),
    kind: 'ClusterRoleBinding',
  });
  for (const [namespace, user] of [
    ['team-backend', 'reader'],
    ['team-frontend', 'neighbour'],
  ] as const) {
    const made = bind('vault-reader', [user]);
    await client.create(local, { ...made, metadata: { ...made.metadata, namespace } });
  }
});
afterAll(() => plane?.stop());

describe('a user who may change definitions', () => {
  const as = (user: string): Client => plane.client.impersonate({ user, groups: ['system:authenticated'] });

  test.each([
    { user: 'author', shown: false, reason: 'cannot read the objects at all' },
    { user: 'neighbour', shown: false, reason: 'may read them in another namespace' },
    { user: 'reader', shown: true, reason: 'may read them where the object is' },
  ])('$user, who $reason: values are shown: $shown', async ({ user, shown }) => {
    const said = await refusalOf(() => change(as(user), narrower, { dryRun: true }));
    expect(said).toContain('1 of 1 stored object would break, first: team-backend/gold: .spec.size');
    expect(said.includes(String(secretSize))).toBe(shown);
  });
});

describe('a forged review', () => {
  const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
  const authority = issueAuthority(validity);
  const certificate = issueLeaf(authority, { ...validity, client: { commonName: 'kube-apiserver' } });
  const clients: ClientAuthority = {
    current: () => ({ ca: authority.certificate, names: ['kube-apiserver'] }),
    subscribe: () => () => {},
  };
  /** One that answers anybody, and one that answers who has the certificate of the API server. */
  let open: Admission;
  let closed: Admission;
  beforeAll(async () => {
    const options = { client: plane.client, platformNamespace, crds: {}, install: false };
    open = await startAdmission(options);
    closed = await startAdmission({ ...options, clients });
  });
  afterAll(async () => {
    await open?.stop();
    await closed?.stop();
  });

  /** The answer to a review that nobody but its sender has checked. */
  const answerTo = (to: Admission, name: string, oldObject: object, object: object) =>
    new Promise<string>((resolve, reject) => {
      const body = JSON.stringify({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        request: {
          uid: 'forged',
          kind: { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
          resource: { group: 'apiextensions.k8s.io', version: 'v1', resource: 'customresourcedefinitions' },
          name,
          operation: 'UPDATE',
          userInfo: { username: 'admin', groups: ['system:masters'] },
          object,
          oldObject,
        },
      });
      const sent = httpsRequest(
        `${to.url}/validate/crds`,
        {
          method: 'POST',
          ca: to.caBundle,
          agent: false,
          cert: certificate.certificate,
          key: certificate.key,
          headers: { 'content-type': 'application/json' },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (part) => {
            text += part;
          });
          response.on('end', () => resolve(text));
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });

  /** A definition that claims to be of another group, version or plural. */
  const claiming = (over: { group?: string; plural?: string; version?: string }, spec: object): Definition => {
    const made = widgets('vaults', spec);
    return {
      ...made,
      spec: {
        ...made.spec,
        ...(over.group === undefined ? {} : { group: over.group }),
        names: { ...made.spec.names, plural: over.plural ?? 'vaults' },
        versions: made.spec.versions.map((version) => ({ ...version, name: over.version ?? 'v1' })),
      },
    };
  };

  const undecided = { rule: `string(self).lowerAscii().split('').size() != 5` };

  const rows: { reason: string; over: Parameters<typeof claiming>[0]; name?: string }[] = [
    { reason: 'the definition as it is', over: {} },
    { reason: 'objects of another kind', over: { group: 'rbac.authorization.k8s.io', plural: 'clusterroles' } },
    { reason: 'a plural that climbs', over: { plural: '../../../../api/v1/secrets' } },
    { reason: 'an encoded plural', over: { plural: '%2e%2e/%2e%2e/secrets' } },
    { reason: 'a plural that ends the path', over: { plural: 'vaults?limit=1' } },
    { reason: 'a plural with a fragment', over: { plural: 'vaults#' } },
    { reason: 'a version that climbs', over: { version: '../../../api/v1' } },
    { reason: 'a name of no definition', over: {}, name: 'made-ups.gate.example.com' },
    { reason: 'a name that climbs', over: {}, name: `../customresourcedefinitions/${before.metadata.name}` },
    { reason: 'an encoded name', over: {}, name: '%2e%2e' },
    { reason: 'a name that ends the path', over: {}, name: `${before.metadata.name}?x=y` },
    { reason: 'a name with a fragment', over: {}, name: `${before.metadata.name}#` },
  ];
  const answersTo = async (to: Admission, { over, name = before.metadata.name }: (typeof rows)[number]) => {
    const { status } = live as { status?: unknown };
    const named = (spec: object) => {
      const definition = claiming(over, spec);
      return { ...definition, metadata: { ...definition.metadata, name, uid: 'u' }, status };
    };
    const ruled = { type: 'integer', 'x-kubernetes-validations': [undecided] };
    const narrow = await answerTo(to, name, named(size({})), named(size({ maximum: 10 })));
    const guess = await answerTo(to, name, named(size({})), named({ ...size({}), properties: { size: ruled } }));
    return [narrow, guess];
  };

  test.each(rows)('with $reason learns nothing about stored objects', async (row) => {
    for (const answer of await answersTo(open, row)) {
      expect(answer).toContain('forged');
      expect(answer).not.toMatch(new RegExp(`${secretSize}|gold|team-backend|1 of 1|kube-system|crd-author`));
    }
  });

  test.each(rows)('of who has the certificate of the API server, with $reason, reads no other objects', async (row) => {
    for (const answer of await answersTo(closed, row)) {
      expect(answer).toContain('forged');
      expect(answer).not.toMatch(/kube-system|crd-author/);
      expect(answer.includes('team-backend/gold')).toBe(row.name === undefined);
    }
  });
});
