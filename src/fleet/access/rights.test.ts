import { describe, expect, test } from 'vitest';
import type { UnknownObject } from '../../runtime/index.ts';
import { resourceMapping, type ServedResource } from '../../runtime/internal.ts';
import type { Snapshot } from '../contract.ts';
import { installerAccount } from './accounts.ts';
import { installerRights, outlineOf } from './installer-rights.ts';
import { alwaysObserved, observerRules } from './observer-rights.ts';
import type { DefinitionObject, PolicyRule, WebhookObject } from './resources.ts';

const served = (group: string, kind: string, plural: string, namespaced: boolean): ServedResource => ({
  group,
  version: 'v1',
  kind,
  plural,
  namespaced,
  verbs: [],
  subresources: [],
  preferred: true,
});
const rbac = 'rbac.authorization.k8s.io';
const mapping = resourceMapping([
  served('apps', 'Deployment', 'deployments', true),
  served('', 'ConfigMap', 'configmaps', true),
  served(rbac, 'ClusterRole', 'clusterroles', false),
  served(rbac, 'ClusterRoleBinding', 'clusterrolebindings', false),
  served(rbac, 'Role', 'roles', true),
  served(rbac, 'RoleBinding', 'rolebindings', true),
]);

const definition = (group: string, plural: string, kind: string, scope = 'Namespaced') =>
  ({
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind } },
  }) as unknown as UnknownObject;
const object = (apiVersion: string, kind: string, name: string, more: object = {}, namespace?: string) =>
  ({
    apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    ...more,
  }) as UnknownObject;
const rightsOf = (manifests: readonly UnknownObject[], definitions: readonly UnknownObject[] = []) =>
  installerRights([outlineOf({ namespace: 'here', definitions, manifests } as unknown as Snapshot)], mapping);

/** Evaluates rules as RBAC does. */
const allows = (
  rules: readonly PolicyRule[] | undefined,
  verb: string,
  group: string,
  resource: string,
  name?: string,
): boolean =>
  (rules ?? []).some(
    (rule) =>
      [verb, '*'].some((each) => rule.verbs.includes(each)) &&
      [group, '*'].some((each) => rule.apiGroups?.includes(each)) &&
      [resource, '*'].some((each) => rule.resources?.includes(each)) &&
      (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.includes(name))),
  );

describe('an installer', () => {
  test('may write the kinds of its objects where they are, and nowhere else', () => {
    const { cluster, namespaces } = rightsOf([
      object('apps/v1', 'Deployment', 'a'),
      object('v1', 'ConfigMap', 'b', {}, 'there'),
    ]);
    expect([...namespaces.keys()]).toEqual(['here', 'there']);
    expect(allows(namespaces.get('here'), 'patch', 'apps', 'deployments')).toBe(true);
    expect(allows(namespaces.get('here'), 'patch', 'apps', 'deployments/scale')).toBe(true);
    expect(allows(namespaces.get('here'), 'create', '', 'configmaps')).toBe(false);
    expect(allows(namespaces.get('there'), 'create', '', 'configmaps')).toBe(true);
    expect(allows(namespaces.get('there'), 'get', '', 'secrets')).toBe(false);
    expect(allows(cluster, 'create', '', 'configmaps')).toBe(false);
  });

  test('may write the release Secrets of Helm in the namespace of the release', () => {
    const { namespaces } = rightsOf([]);
    expect(allows(namespaces.get('here'), 'create', '', 'secrets')).toBe(true);
  });

  test('may never delete a definition, and may update only its own', () => {
    const { cluster } = rightsOf(
      [object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'others.example.com')],
      [definition('example.com', 'widgets', 'Widget')],
    );
    const may = (verb: string, name: string) =>
      allows(cluster, verb, 'apiextensions.k8s.io', 'customresourcedefinitions', name);
    expect(may('delete', 'widgets.example.com')).toBe(false);
    expect(may('patch', 'widgets.example.com')).toBe(true);
    expect(may('patch', 'others.example.com')).toBe(true);
    expect(may('patch', 'certificates.cert-manager.io')).toBe(false);
  });

  test('writes custom resources whose definition it brings along', () => {
    const { cluster, namespaces } = rightsOf(
      [object('example.com/v1', 'Widget', 'a'), object('example.com/v1', 'Fleet', 'b')],
      [definition('example.com', 'widgets', 'Widget'), definition('example.com', 'fleets', 'Fleet', 'Cluster')],
    );
    expect(allows(namespaces.get('here'), 'create', 'example.com', 'widgets')).toBe(true);
    expect(allows(cluster, 'delete', 'example.com', 'fleets', 'b')).toBe(true);
    expect(allows(cluster, 'delete', 'example.com', 'fleets', 'c')).toBe(false);
  });

  test('has the rules of the chart roles, because of escalation prevention', () => {
    const rules = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['*'] }];
    const { cluster, namespaces } = rightsOf([
      object(`${rbac}/v1`, 'ClusterRole', 'all', { rules }),
      object(`${rbac}/v1`, 'Role', 'some', { rules: [{ apiGroups: [''], resources: ['events'], verbs: ['create'] }] }),
    ]);
    expect(allows(cluster, 'deletecollection', 'example.com', 'widgets')).toBe(true);
    expect(allows(namespaces.get('here'), 'create', '', 'events')).toBe(true);
    expect(allows(cluster, 'create', '', 'events')).toBe(false);
    expect(allows(cluster, 'escalate', rbac, 'clusterroles', 'all')).toBe(false);
  });

  test('binds the roles that the chart binds, by their names', () => {
    const roleRef = (kind: string, name: string) => ({ roleRef: { apiGroup: rbac, kind, name } });
    const { cluster, namespaces } = rightsOf([
      object(`${rbac}/v1`, 'ClusterRoleBinding', 'a', roleRef('ClusterRole', 'system:auth-delegator')),
      object(`${rbac}/v1`, 'RoleBinding', 'b', roleRef('Role', 'reader'), 'kube-system'),
    ]);
    expect(allows(cluster, 'bind', rbac, 'clusterroles', 'system:auth-delegator')).toBe(true);
    expect(allows(cluster, 'bind', rbac, 'clusterroles', 'cluster-admin')).toBe(false);
    expect(allows(namespaces.get('kube-system'), 'bind', rbac, 'roles', 'reader')).toBe(true);
    expect(allows(cluster, 'bind', rbac, 'roles', 'reader')).toBe(false);
  });

  test('has all permissions only for a chart with an aggregated role', () => {
    const gathering = rightsOf([
      object(`${rbac}/v1`, 'ClusterRole', 'all', { aggregationRule: { clusterRoleSelectors: [] } }),
    ]);
    expect(allows(gathering.cluster, 'delete', 'any', 'thing')).toBe(true);
    expect(allows(rightsOf([object('apps/v1', 'Deployment', 'a')]).cluster, 'delete', 'any', 'thing')).toBe(false);
  });

  test('gets no permission for a kind that the cluster does not serve', () => {
    const { cluster, namespaces } = rightsOf([object('monitoring.example.com/v1', 'ServiceMonitor', 'a')]);
    expect(JSON.stringify([cluster, ...namespaces.values()])).not.toContain('monitoring.example.com');
  });

  test('the outline keeps nothing else of a chart', () => {
    const secret = object('v1', 'Secret', 'a', { data: { password: 'secret-word' } });
    const annotated = { ...secret, metadata: { name: 'a', annotations: { note: 'secret-word' } } };
    const outline = outlineOf({ namespace: 'here', definitions: [], manifests: [annotated] } as unknown as Snapshot);
    expect(JSON.stringify(outline)).not.toContain('secret-word');
  });
});

describe('the account of an installer', () => {
  test.each([
    { operator: 'cert-manager', name: 'kidp-installer-cert-manager' },
    { operator: 'a'.repeat(200), name: /^kidp-installer-a+-[0-9a-f]{16}$/ },
  ])('is named after the operator: $operator', ({ operator, name }) => {
    expect(installerAccount(operator)).toMatch(name);
    expect(installerAccount(operator).length).toBeLessThanOrEqual(63);
  });

  test('is unique per operator, however long the names are', () => {
    expect(installerAccount(`${'a'.repeat(100)}b`)).not.toBe(installerAccount(`${'a'.repeat(100)}c`));
  });
});

describe('the observer', () => {
  const widgets = definition('example.com', 'widgets', 'Widget') as unknown as DefinitionObject;
  const webhook = (apiGroups: string[], resources: string[]) =>
    ({ webhooks: [{ rules: [{ apiGroups, resources }] }] }) as unknown as WebhookObject;
  const brought = observerRules({
    definitions: [widgets],
    webhooks: [
      webhook([''], ['pods', 'pods/exec', 'serviceaccounts/token']),
      webhook(['*'], ['*']),
      webhook(['apps'], ['*', 'deployments']),
    ],
    guarded: true,
  });
  const rules = [...alwaysObserved, ...brought];

  test.each([
    {
      verb: 'watch',
      group: 'example.com',
      resource: 'widgets',
      may: true,
      reason: 'custom resources show the health of an operator',
    },
    { verb: 'get', group: 'example.com', resource: 'widgets/status', may: true, reason: 'so does their status' },
    {
      verb: 'create',
      group: 'example.com',
      resource: 'widgets',
      may: true,
      reason: 'a webhook is called with a dry run',
    },
    { verb: 'create', group: '', resource: 'pods', may: true, reason: 'a webhook matches them' },
    { verb: 'create', group: 'apps', resource: 'deployments', may: true, reason: 'a webhook matches them' },
    { verb: 'create', group: 'apps', resource: 'statefulsets', may: false, reason: 'no webhook matches them' },
    { verb: 'create', group: '', resource: 'pods/exec', may: false, reason: 'not a dry run' },
    {
      verb: 'create',
      group: '',
      resource: 'serviceaccounts/token',
      may: false,
      reason: 'a dry run issues a token too',
    },
    { verb: 'get', group: '', resource: 'secrets', may: false, reason: 'Secrets are never read' },
    { verb: 'list', group: '', resource: 'configmaps', may: false, reason: 'they do not show health' },
    { verb: 'delete', group: '', resource: 'pods', may: false, reason: 'the observer is read-only' },
    { verb: 'patch', group: 'example.com', resource: 'widgets', may: false, reason: 'the observer is read-only' },
  ])('$verb $resource of "$group": $may, $reason', ({ verb, group, resource, may }) => {
    expect(allows(rules, verb, group, resource)).toBe(may);
  });

  test('cannot create on a cluster without ValidatingAdmissionPolicies', () => {
    const unguarded = observerRules({ definitions: [widgets], webhooks: [webhook([''], ['pods'])], guarded: false });
    expect(unguarded.some(({ verbs }) => verbs.includes('create'))).toBe(false);
  });
});
