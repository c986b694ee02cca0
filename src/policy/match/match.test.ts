import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPolicy } from '../load/policy.ts';
import type { AdmissionRequest, Json } from '../request.ts';
import { emptyWorld, type World } from '../world.ts';
import { glob } from './globs.ts';
import { CompiledMatch } from './match.ts';
import { Subject } from './subject.ts';

const POD: Json = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web-1', namespace: 'team-a', labels: { app: 'web', tier: 'front' } },
};
const namespaces: Readonly<Record<string, Json>> = {
  'team-a': { metadata: { name: 'team-a', labels: { env: 'prod' } } },
};
const world: World = {
  ...emptyWorld(0),
  namespace: (name) => namespaces[name],
  kindOf: (_group, _version, plural) => (plural === 'foozle' ? 'Foo' : undefined),
};

const base: AdmissionRequest = {
  uid: 'u',
  kind: { group: '', version: 'v1', kind: 'Pod' },
  resource: { group: '', version: 'v1', resource: 'pods' },
  name: 'web-1',
  namespace: 'team-a',
  operation: 'CREATE',
  userInfo: { username: 'system:serviceaccount:flux-system:kustomize', groups: ['system:authenticated', 'devs'] },
  object: POD,
};

const system = ['kube-system', 'kidp-system', 'legacy'];

function answer(selector: object, request: Partial<AdmissionRequest> = {}, exclude?: object) {
  const { model, issues } = readPolicy({
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'p' },
    spec: {
      selector: { resourceTypes: ['*/*/*/*'], ...selector },
      rules: [{ name: 'r', expression: 'true' }],
      ...(exclude === undefined ? {} : { exclude }),
    } as unknown as Json,
  });
  if (model === undefined) throw new Error(JSON.stringify(issues));
  const full = { ...base, ...request };
  const subject = new Subject(full, world, full.object ?? null, full.oldObject ?? null, system);
  if (exclude !== undefined) return new CompiledMatch(model.exclude ?? {}, 'exclude').answer(subject);
  return new CompiledMatch(model.match).answer(subject);
}

const ofKind = (group: string, kind: string, resource: string): Partial<AdmissionRequest> => ({
  kind: { group, version: 'v1', kind },
  resource: { group, version: 'v1', resource },
});
const needs = (detail: string) => expect.objectContaining({ detail: expect.stringContaining(detail) });

describe('a match', () => {
  it.each<{ reason: string; selector: object; request?: Partial<AdmissionRequest>; is: unknown }>([
    { reason: 'a type', selector: { resourceTypes: ['core/v1/Pod'] }, is: true },
    { reason: 'another version', selector: { resourceTypes: ['core/v2/Pod'] }, is: false },
    { reason: 'any version', selector: { resourceTypes: ['core/*/Pod'] }, is: true },
    { reason: 'another kind', selector: { resourceTypes: ['core/v1/Service'] }, is: false },
    { reason: 'one of several', selector: { resourceTypes: ['core/v1/Service', 'core/v1/Pod'] }, is: true },
    { reason: 'a bare kind is not of the core', selector: { resourceTypes: ['Pod'] }, is: false },
    { reason: 'everything', selector: { resourceTypes: ['*'] }, is: true },
    {
      reason: 'groups by a pattern',
      selector: { resourceTypes: ['*.k8s.io/*/*'] },
      request: ofKind('networking.k8s.io', 'Ingress', 'ingresses'),
      is: true,
    },
    {
      reason: 'everything leaves out Events',
      selector: { resourceTypes: ['*'] },
      request: ofKind('', 'Event', 'events'),
      is: false,
    },
    {
      reason: 'also those of the newer group',
      selector: { resourceTypes: ['*/*/*'] },
      request: ofKind('events.k8s.io', 'Event', 'events'),
      is: false,
    },
    {
      reason: 'everything leaves out Leases',
      selector: { resourceTypes: ['*'] },
      request: ofKind('coordination.k8s.io', 'Lease', 'leases'),
      is: false,
    },
    {
      reason: 'everything leaves out access reviews',
      selector: { resourceTypes: ['*'] },
      request: ofKind('authorization.k8s.io', 'SubjectAccessReview', 'subjectaccessreviews'),
      is: false,
    },
    {
      reason: 'and reviews of tokens',
      selector: { resourceTypes: ['*'] },
      request: ofKind('authentication.k8s.io', 'TokenReview', 'tokenreviews'),
      is: false,
    },
    {
      reason: 'everything of the core leaves out Events',
      selector: { resourceTypes: ['core/v1/*'] },
      request: ofKind('', 'Event', 'events'),
      is: false,
    },
    {
      reason: 'Events by name',
      selector: { resourceTypes: ['core/v1/Event'] },
      request: ofKind('', 'Event', 'events'),
      is: true,
    },
    {
      reason: 'Leases by name beside everything',
      selector: { resourceTypes: ['*', 'coordination.k8s.io/v1/Lease'] },
      request: ofKind('coordination.k8s.io', 'Lease', 'leases'),
      is: true,
    },
    {
      reason: 'a subresource only where it is named',
      selector: { resourceTypes: ['core/v1/Pod'] },
      request: { subResource: 'status' },
      is: false,
    },
    {
      reason: 'a subresource that is named',
      selector: { resourceTypes: ['core/v1/Pod/status'] },
      request: { subResource: 'status' },
      is: true,
    },
    {
      reason: 'a subresource whose kind is another',
      selector: { resourceTypes: ['core/v1/Pod/exec'], operations: ['CONNECT'] },
      request: {
        subResource: 'exec',
        operation: 'CONNECT',
        kind: { group: '', version: 'v1', kind: 'PodExecOptions' },
      },
      is: true,
    },
    {
      reason: 'the scale of a kind whose plural nobody would guess',
      selector: { resourceTypes: ['example.com/v1/Foo/scale'] },
      request: {
        subResource: 'scale',
        kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        resource: { group: 'example.com', version: 'v1', resource: 'foozle' },
      },
      is: true,
    },
    {
      reason: 'the scale of another group',
      selector: { resourceTypes: ['apps/v1/Deployment/scale'] },
      request: {
        subResource: 'scale',
        kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      },
      is: true,
    },
    {
      reason: 'all subresources',
      selector: { resourceTypes: ['core/v1/Pod/*'] },
      request: { subResource: 'log' },
      is: true,
    },
    { reason: 'CREATE by default', selector: {}, request: { operation: 'CREATE' }, is: true },
    { reason: 'UPDATE by default', selector: {}, request: { operation: 'UPDATE', oldObject: POD }, is: true },
    { reason: 'DELETE only if asked', selector: {}, request: { operation: 'DELETE', oldObject: POD }, is: false },
    {
      reason: 'DELETE if asked',
      selector: { operations: ['DELETE'] },
      request: { operation: 'DELETE', oldObject: POD },
      is: true,
    },
    { reason: 'labels', selector: { matchLabels: { app: 'web' } }, is: true },
    { reason: 'all labels', selector: { matchLabels: { app: 'web', tier: 'back' } }, is: false },
    {
      reason: 'labels of the old object',
      selector: { matchLabels: { app: 'old' } },
      request: { operation: 'UPDATE', oldObject: { ...POD, metadata: { labels: { app: 'old' } } } },
      is: true,
    },
    {
      reason: 'one of them must have all labels',
      selector: { matchLabels: { app: 'web', tier: 'x' } },
      request: { operation: 'UPDATE', oldObject: { metadata: { labels: { tier: 'x' } } } },
      is: false,
    },
    {
      reason: 'labels on DELETE',
      selector: { operations: ['DELETE'], matchLabels: { app: 'web' } },
      request: { operation: 'DELETE', object: null as never, oldObject: POD },
      is: true,
    },
    {
      reason: 'In',
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['api', 'web'] }] },
      is: true,
    },
    {
      reason: 'NotIn',
      selector: { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] },
      is: false,
    },
    {
      reason: 'NotIn of what is not there',
      selector: { matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] },
      is: true,
    },
    { reason: 'Exists', selector: { matchExpressions: [{ key: 'zone', operator: 'Exists' }] }, is: false },
    { reason: 'DoesNotExist', selector: { matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }] }, is: true },
    { reason: 'a namespace', selector: { namespaces: ['team-a'] }, is: true },
    { reason: 'namespaces by a pattern', selector: { namespaces: ['team-?'] }, is: true },
    { reason: 'another namespace', selector: { namespaces: ['other', 'x-*'] }, is: false },
    {
      reason: 'any namespace, or none',
      selector: { namespaces: ['*'] },
      request: { ...ofKind('', 'Node', 'nodes'), namespace: '', object: { metadata: { name: 'n' } } },
      is: true,
    },
    {
      reason: 'a Namespace is in itself',
      selector: { namespaces: ['team-a'] },
      request: { ...ofKind('', 'Namespace', 'namespaces'), name: 'team-a', namespace: '' },
      is: true,
    },
    {
      reason: 'the labels of a namespace',
      selector: { namespaceSelector: { matchLabels: { env: 'prod' } } },
      is: true,
    },
    {
      reason: 'other labels of a namespace',
      selector: { namespaceSelector: { matchLabels: { env: 'dev' } } },
      is: false,
    },
    {
      reason: 'what has no namespace is not exempt by its labels',
      selector: { namespaceSelector: { matchLabels: { env: 'dev' } } },
      request: { ...ofKind('', 'Node', 'nodes'), namespace: '', object: { metadata: { name: 'n' } } },
      is: true,
    },
    {
      reason: 'a Namespace by its own new labels',
      selector: { namespaceSelector: { matchLabels: { env: 'new' } } },
      request: {
        ...ofKind('', 'Namespace', 'namespaces'),
        name: 'team-a',
        operation: 'UPDATE',
        object: { metadata: { name: 'team-a', labels: { env: 'new' } } },
      },
      is: true,
    },
    {
      reason: 'a namespace that is not known',
      selector: { namespaceSelector: { matchLabels: { env: 'prod' } } },
      request: { namespace: 'nowhere' },
      is: needs('namespace nowhere'),
    },
    { reason: 'names by a pattern', selector: { names: ['web-*'] }, is: true },
    { reason: 'another name', selector: { names: ['api'] }, is: false },
    { reason: 'a name that only the object has', selector: { names: ['web-1'] }, request: { name: '' }, is: true },
    { reason: 'a user', selector: { users: ['system:serviceaccount:flux-system:*'] }, is: true },
    { reason: 'another user', selector: { users: ['ada'] }, is: false },
    { reason: 'any of the groups', selector: { groups: ['admins', 'devs'] }, is: true },
    { reason: 'none of the groups', selector: { groups: ['admins'] }, is: false },
    { reason: 'a service account', selector: { serviceAccounts: ['flux-system/kustomize'] }, is: true },
    { reason: 'service accounts by a pattern', selector: { serviceAccounts: ['*/kustomize'] }, is: true },
    {
      reason: 'a user that is no service account',
      selector: { serviceAccounts: ['*/*'] },
      request: { userInfo: { username: 'ada' } },
      is: false,
    },
    { reason: 'kube-system is exempt', selector: {}, request: { namespace: 'kube-system' }, is: false },
    { reason: 'so is the namespace of the platform', selector: {}, request: { namespace: 'kidp-system' }, is: false },
    { reason: 'so is one that the administrator excludes', selector: {}, request: { namespace: 'legacy' }, is: false },
    {
      reason: 'and the Namespace itself',
      selector: {},
      request: { ...ofKind('', 'Namespace', 'namespaces'), name: 'kube-system', namespace: '' },
      is: false,
    },
    {
      reason: 'unless asked',
      selector: { includeSystemNamespaces: true },
      request: { namespace: 'kube-system' },
      is: true,
    },
    {
      reason: 'who asks is not known',
      selector: { users: ['ada'] },
      request: { unknown: ['userInfo'] },
      is: needs('who asks'),
    },
    {
      reason: 'a no outweighs what is not known',
      selector: { users: ['ada'], names: ['x'] },
      request: { unknown: ['userInfo'] },
      is: false,
    },
    { reason: 'what is stored was created or updated', selector: {}, request: { unknown: ['operation'] }, is: true },
    {
      reason: 'about CREATE alone one would have to know',
      selector: { operations: ['CREATE'] },
      request: { unknown: ['operation'] },
      is: needs('operation'),
    },
    {
      reason: 'so about DELETE',
      selector: { operations: ['DELETE'] },
      request: { unknown: ['operation'] },
      is: needs('operation'),
    },
  ])('$reason', ({ selector, request, is }) => {
    expect(answer(selector, request)).toEqual(is);
  });

  it.each<{ reason: string; exclude: object; request?: Partial<AdmissionRequest>; is: unknown }>([
    { reason: 'a type', exclude: { resourceTypes: ['core/v1/Pod'] }, is: true },
    { reason: 'all that is given must hold', exclude: { resourceTypes: ['core/v1/Pod'], names: ['x'] }, is: false },
    {
      reason: 'DELETE says nothing of what is stored',
      exclude: { operations: ['DELETE'] },
      request: { unknown: ['operation'] },
      is: false,
    },
    {
      reason: 'who asks is not known',
      exclude: { groups: ['admins'] },
      request: { unknown: ['userInfo'] },
      is: needs('who asks'),
    },
    { reason: 'an empty one leaves out everything', exclude: {}, is: true },
    ...[
      { reason: 'by a label that a new object has', after: 'yes', before: undefined, is: true },
      { reason: 'by a label that stays', after: 'yes', before: 'yes', is: true },
      { reason: 'not by a label that only the old object had', after: 'no', before: 'yes', is: false },
      { reason: 'not by a label that this change puts on', after: 'yes', before: 'no', is: false },
      { reason: 'by the label of what is deleted', after: undefined, before: 'yes', is: true },
    ].map(({ reason, after, before, is }) => ({
      reason,
      exclude: { matchLabels: { exempt: 'yes' } },
      request: {
        object: after === undefined ? undefined : { metadata: { name: 'x', labels: { exempt: after } } },
        oldObject: before === undefined ? undefined : { metadata: { name: 'x', labels: { exempt: before } } },
        operation: after === undefined ? 'DELETE' : before === undefined ? 'CREATE' : 'UPDATE',
      } as unknown as Partial<AdmissionRequest>,
      is,
    })),
    {
      reason: 'what has no namespace is not exempt by the labels of one',
      exclude: { namespaceSelector: { matchLabels: { env: 'prod' } } },
      request: { ...ofKind('', 'Node', 'nodes'), namespace: '', object: { metadata: { name: 'n' } } },
      is: false,
    },
    {
      reason: 'a Namespace that goes, by the labels it has',
      exclude: { namespaceSelector: { matchLabels: { env: 'old' } } },
      request: {
        ...ofKind('', 'Namespace', 'namespaces'),
        name: 'unheard-of',
        operation: 'DELETE',
        object: undefined as never,
        oldObject: { metadata: { name: 'unheard-of', labels: { env: 'old' } } },
      },
      is: true,
    },
  ])('leaves out: $reason', ({ exclude, request, is }) => {
    expect(answer({}, request, exclude)).toEqual(is);
  });
});

it('matches names like the equivalent regular expression', () => {
  const letter = fc.constantFrom('a', 'b', '*', '?', '-');
  fc.assert(
    fc.property(
      fc.array(letter, { maxLength: 8 }),
      fc.array(fc.constantFrom('a', 'b', '-'), { maxLength: 8 }),
      (pattern, text) => {
        const source = pattern.map((each) => (each === '*' ? '.*' : each === '?' ? '.' : each)).join('');
        expect(glob(pattern.join(''))(text.join(''))).toBe(new RegExp(`^${source}$`).test(text.join('')));
      },
    ),
  );
});
