/**
 * Whether a replica can do its work in this cluster: the kinds are installed, its namespace is there, and it has the rights that it
 * cannot do without. Asked before it starts, so that what is missing is said once, in a sentence, and not by every watch for ever.
 */
import {
  application,
  approval,
  broker,
  cluster,
  crdRevision,
  deployableKinds,
  deploymentTarget,
  GROUP,
  kinds,
  operator,
  operatorDeployment,
  operatorInstallation,
  policy,
  policyException,
  team,
  VERSION,
} from '../api/index.ts';
import { type Client, ConfigError, isNotFound, type KubernetesObject, type Resource } from '../runtime/index.ts';
import { coreNamespaces as namespaces } from '../runtime/internal.ts';

/** Throws a `ConfigError` that says what is missing and what to do. `source` is what tells who we are. */
export async function demandAccess(
  client: Client,
  namespace: string,
  source: string,
  { dispatch, rollouts }: { readonly dispatch: boolean; readonly rollouts: boolean },
): Promise<void> {
  await demandKinds(client, dispatch || rollouts ? kinds : watchedKinds);
  const needed = [
    ...rights(namespace),
    ...(dispatch ? dispatchRights(namespace) : []),
    ...(rollouts ? rolloutRights(namespace) : []),
  ];
  await demandRights(
    client,
    source,
    needed,
    'Give it the rights of manifests/install (kubectl apply -k manifests/install), or run as a user who has them',
  );
  await demandNamespace(client, namespace);
}

/** Throws a `ConfigError` that names all that are missing. */
export async function demandRights(
  client: Client,
  source: string,
  needed: readonly Right[],
  hint: string,
): Promise<void> {
  const answers = await Promise.all(
    needed.map(async (right) => ((await isAllowed(client, right)) ? undefined : right)),
  );
  const missing = answers.filter((right) => right !== undefined);
  if (missing.length === 0) return;
  throw new ConfigError({ code: 'access', message: `The user of ${source} may not ${described(missing)}`, hint });
}

/** Those that are watched at all times. */
const watchedKinds = [policy, policyException, team, application, approval, crdRevision];

async function demandKinds(client: Client, needed: readonly { readonly plural: string }[]): Promise<void> {
  const path = `/apis/${GROUP}/${VERSION}`;
  const { status, text } = await client.request({ method: 'GET', path });
  // An API server that has just started does not know yet who may ask, nor what it serves.
  if (status !== 200 && status !== 404) {
    throw new ConfigError({
      code: 'discovery',
      message: `It cannot be found out which kinds the cluster serves (${path} answers ${status})`,
      hint: 'Start again once the API server is ready; where it stays so, let this user read discovery (ClusterRole system:discovery)',
    });
  }
  const served = status === 200 ? ((JSON.parse(text) as { resources?: { name: string }[] }).resources ?? []) : [];
  const missing = needed.filter(({ plural }) => !served.some(({ name }) => name === plural));
  if (missing.length === 0) return;
  throw new ConfigError({
    code: 'kinds',
    message: `The cluster does not serve ${missing.map(({ plural }) => `${plural}.${GROUP}`).join(', ')} (${path} answers ${status})`,
    hint: 'Install the kinds with "kubectl apply --server-side -f manifests/crds", then start again',
  });
}

async function demandNamespace(client: Client, name: string): Promise<void> {
  await client.get(namespaces, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new ConfigError({
      code: 'namespace',
      message: `There is no namespace ${name}, where replicas keep their certificates and Leases`,
      hint: 'Create it, or name another one with --namespace',
    });
  });
}

export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
}

const of = (verbs: string, group: string, resource: string, more: Partial<Right> = {}): Right[] =>
  verbs.split(' ').map((verb): Right => ({ verb, group, resource, ...more }));

/** Without these nothing works. What only some policies need (other kinds, access reviews), and reports and events, are not here. */
export function rights(namespace: string): Right[] {
  const registration = 'admissionregistration.k8s.io';
  const configurations = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'];
  return [
    ...watchedKinds.flatMap(({ plural }) => of('get list watch', GROUP, plural)),
    ...of('get list watch', '', 'namespaces'),
    ...of('list watch', 'apiextensions.k8s.io', 'customresourcedefinitions'),
    ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].flatMap((resource) =>
      of('list watch', registration, resource),
    ),
    ...configurations.flatMap((resource) => [
      ...of('create', registration, resource),
      ...of('get list watch update delete', registration, resource, { name: 'kidp-admission' }),
    ]),
    ...[policy, policyException, approval, crdRevision].flatMap(({ plural }) =>
      of('patch', GROUP, plural, { subresource: 'status' }),
    ),
    ...of('create delete', GROUP, crdRevision.plural),
    ...of('get list watch create update patch delete', 'coordination.k8s.io', 'leases', { namespace }),
    ...of('create', '', 'secrets', { namespace }),
  ];
}

/** Without these a cluster of somebody else's can be neither joined nor left as it was. */
export function joinRights(namespace: string): Right[] {
  return [
    ...of('get create patch delete', 'apiextensions.k8s.io', 'customresourcedefinitions'),
    ...of('list', 'coordination.k8s.io', 'leases'),
    ...kinds.flatMap(({ plural }) => of('list', GROUP, plural)),
    // The certificates of such a run are its own.
    ...rights(namespace).filter(({ resource }) => resource !== 'secrets'),
  ];
}

/** Without these nothing that is admitted becomes real. */
export function dispatchRights(namespace: string): Right[] {
  const followed = [team, application, deploymentTarget, broker, ...deployableKinds];
  return [
    ...followed.flatMap(({ plural }) => [
      ...of('get list watch update patch', GROUP, plural),
      ...of('update patch', GROUP, plural, { subresource: 'status' }),
    ]),
    ...of('create patch', '', 'namespaces'),
    ...of('list watch create patch delete', '', 'resourcequotas'),
    ...of('list watch create patch', 'networking.k8s.io', 'networkpolicies'),
    ...['roles', 'rolebindings'].flatMap((resource) =>
      of('list watch create patch delete', 'rbac.authorization.k8s.io', resource),
    ),
    ...of('get create update patch delete', '', 'secrets'),
    ...of('get list create patch', '', 'configmaps', { namespace }),
  ];
}

/** Without these no operator is rolled out. */
export function rolloutRights(namespace: string): Right[] {
  const followed = [operator, cluster, operatorDeployment, operatorInstallation];
  return [
    ...followed.flatMap(({ plural }) => [
      ...of('get list watch update patch', GROUP, plural),
      ...of('update patch', GROUP, plural, { subresource: 'status' }),
    ]),
    ...of('delete', GROUP, operatorDeployment.plural),
    ...of('create delete', GROUP, operatorInstallation.plural),
    ...of('create', GROUP, approval.plural),
    ...of('get list watch create update patch delete', '', 'secrets', { namespace }),
    ...of('get create patch', '', 'configmaps', { namespace }),
  ];
}

interface AccessReview extends KubernetesObject {
  spec: { resourceAttributes: Right };
  status?: { allowed?: boolean };
}

const accessReviews: Resource = {
  group: 'authorization.k8s.io',
  version: 'v1',
  plural: 'selfsubjectaccessreviews',
  kind: 'SelfSubjectAccessReview',
  namespaced: false,
};

async function isAllowed(client: Client, right: Right): Promise<boolean> {
  const { status } = await client.create<AccessReview>(accessReviews, {
    apiVersion: 'authorization.k8s.io/v1',
    kind: accessReviews.kind,
    // It has no name: a review is answered and not stored.
    metadata: {} as AccessReview['metadata'],
    spec: { resourceAttributes: right },
  });
  return status?.allowed === true;
}

/** `list, watch teams.platform.company.com; create secrets in kidp-system`. */
export function described(missing: readonly Right[]): string {
  const verbs = new Map<string, Set<string>>();
  for (const { verb, group, resource, subresource, name, namespace } of missing) {
    const what =
      [resource, group].filter((part) => part !== '').join('.') +
      (subresource === undefined ? '' : `/${subresource}`) +
      (name === undefined ? '' : ` "${name}"`) +
      (namespace === undefined ? '' : ` in ${namespace}`);
    verbs.set(what, (verbs.get(what) ?? new Set()).add(verb));
  }
  return [...verbs].map(([what, list]) => `${[...list].join(', ')} ${what}`).join('; ');
}
