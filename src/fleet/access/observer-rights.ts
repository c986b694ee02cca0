/**
 * The permissions of the observer: read access to what shows the health of operators, without Secrets, and dry-run
 * requests for webhooks.
 *
 * RBAC cannot restrict requests to dry runs, so a ValidatingAdmissionPolicy denies all other writes of the observer. On
 * clusters without such policies it gets no create permission.
 */
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../api/index.ts';
import type { UnknownObject } from '../../runtime/index.ts';
import type { DefinitionObject, PolicyRule, WebhookObject } from './resources.ts';

const read = ['get', 'list', 'watch'];

/** Rules that do not depend on what is installed. */
export const alwaysObserved: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['pods', 'services', 'endpoints', 'namespaces', 'events'], verbs: read },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'daemonsets', 'replicasets'], verbs: read },
  { apiGroups: ['batch'], resources: ['jobs'], verbs: read },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: read },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: read },
  { apiGroups: ['metrics.k8s.io'], resources: ['pods'], verbs: ['get', 'list'] },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: read },
  {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
    verbs: read,
  },
  { nonResourceURLs: ['/version', '/readyz', '/livez', '/healthz'], verbs: ['get'] },
];

/** `observerRules` returns the rules for the given definitions and webhooks. */
export function observerRules(input: {
  readonly definitions: readonly DefinitionObject[];
  readonly webhooks: readonly WebhookObject[];
  /** Whether the cluster denies writes that are not dry runs. */
  readonly guarded: boolean;
}): PolicyRule[] {
  const custom = new Map<string, Set<string>>();
  for (const { spec } of input.definitions) {
    if (spec?.group === undefined || spec.names?.plural === undefined) continue;
    add(custom, spec.group, spec.names.plural);
  }
  const asked = new Map<string, Set<string>>();
  for (const [group, plurals] of custom) for (const plural of plurals) add(asked, group, plural);
  for (const { webhooks = [] } of input.webhooks) {
    for (const { apiGroups = [], resources = [] } of webhooks.flatMap(({ rules = [] }) => rules)) {
      // Never a subresource: some have effects even in a dry run, such as the token of a service account.
      const plain = resources.filter((each) => /^[a-z0-9.-]+$/.test(each));
      for (const group of apiGroups) if (group !== '*') for (const each of plain) add(asked, group, each);
    }
  }
  return [
    ...rules(custom, read, (plural) => [plural, `${plural}/status`]),
    ...(input.guarded ? rules(asked, ['create'], (plural) => [plural]) : []),
  ];
}

function rules(
  from: ReadonlyMap<string, ReadonlySet<string>>,
  verbs: readonly string[],
  resourcesOf: (plural: string) => string[],
): PolicyRule[] {
  return [...from]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([group, plurals]) => ({ apiGroups: [group], resources: [...plurals].sort().flatMap(resourcesOf), verbs }));
}

function add(to: Map<string, Set<string>>, group: string, plural: string): void {
  const plurals = to.get(group) ?? new Set();
  to.set(group, plurals.add(plural));
}

/** `dryRunGuard` denies every write of the observer that is not a dry run, and affects no other user. */
export function dryRunGuard(name: string, userName: string): { policy: UnknownObject; binding: UnknownObject } {
  const metadata = { name, labels: { [MANAGED_BY_LABEL]: MANAGED_BY } };
  return {
    policy: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ['*'],
              apiVersions: ['*'],
              resources: ['*/*'],
              operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
            },
          ],
        },
        matchConditions: [{ name: 'observer', expression: `request.userInfo.username == '${userName}'` }],
        validations: [
          {
            expression: 'has(request.dryRun) && request.dryRun',
            message: 'the kidp observer may only send dry-run requests',
            reason: 'Forbidden',
          },
        ],
      },
    },
    binding: {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  };
}
