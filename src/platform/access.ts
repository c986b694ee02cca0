/**
 * Preflight checks of a replica: the CRDs are installed, its namespace exists, and it has the permissions it needs. They run before it
 * starts, so that everything missing is reported once, in one sentence, and not by every watch for ever.
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
  service,
  team,
  VERSION,
} from '../api/index.ts';
import { type Client, ConfigError, isNotFound } from '../runtime/index.ts';
import { isAllowed, coreNamespaces as namespaces, type Right } from '../runtime/internal.ts';

/** `demandAccess` throws a `ConfigError` that names what is missing and what to do. `source` names the credentials. */
export async function demandAccess(
  client: Client,
  namespace: string,
  source: string,
  { dispatch, rollouts, crdsOnly = false }: Features,
): Promise<void> {
  await demandKinds(client, dispatch || rollouts ? kinds : crdsOnly ? gateKinds : watchedKinds);
  const needed = [
    ...(crdsOnly ? gateRights(namespace) : rights(namespace)),
    ...(dispatch ? dispatchRights(namespace) : []),
    ...(rollouts ? rolloutRights(namespace) : []),
  ];
  await demandRights(
    client,
    source,
    needed,
    'Grant the permissions of manifests/install (kubectl apply -k manifests/install), or run as a user who has them',
  );
  await demandNamespace(client, namespace);
}

/** `demandRights` throws a `ConfigError` that names all missing permissions. */
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
  throw new ConfigError({
    code: 'access',
    message: `The user of ${source} is not allowed to ${described(missing)}`,
    hint,
  });
}

interface Features {
  readonly dispatch: boolean;
  readonly rollouts: boolean;
  readonly crdsOnly?: boolean | undefined;
}

/** The kinds of the CRD gate. */
const gateKinds = [approval, crdRevision];
/** The kinds that every other replica watches. */
const watchedKinds = [policy, policyException, team, application, service, ...gateKinds];

async function demandKinds(client: Client, needed: readonly { readonly plural: string }[]): Promise<void> {
  const path = `/apis/${GROUP}/${VERSION}`;
  const { status, text } = await client.request({ method: 'GET', path });
  // An API server that has just started answers 403 or 404 until its roles and CRDs are loaded.
  if (status !== 200 && status !== 404) {
    throw new ConfigError({
      code: 'discovery',
      message: `Discovery failed: ${path} answered ${status}`,
      hint: 'Start again once the API server is ready. If it persists, grant this user the ClusterRole system:discovery',
    });
  }
  const served = status === 200 ? ((JSON.parse(text) as { resources?: { name: string }[] }).resources ?? []) : [];
  const missing = needed.filter(({ plural }) => !served.some(({ name }) => name === plural));
  if (missing.length === 0) return;
  throw new ConfigError({
    code: 'kinds',
    message: `The cluster does not serve ${missing.map(({ plural }) => `${plural}.${GROUP}`).join(', ')} (${path} answered ${status})`,
    hint: 'Install the CRDs with "kubectl apply -f crds/", then start again',
  });
}

async function demandNamespace(client: Client, name: string): Promise<void> {
  await client.get(namespaces, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new ConfigError({
      code: 'namespace',
      message: `Namespace ${name}, which holds the certificates and Leases of the replicas, does not exist`,
      hint: 'Create it, or choose another one with --namespace',
    });
  });
}

const of = (verbs: string, group: string, resource: string, more: Partial<Right> = {}): Right[] =>
  verbs.split(' ').map((verb): Right => ({ verb, group, resource, ...more }));

/** The permissions that every replica needs. Optional ones (other kinds and access reviews for some policies, reports, events) are not listed. */
export function rights(namespace: string): Right[] {
  return [
    ...watchedKinds.flatMap(({ plural }) => of('get list watch', GROUP, plural)),
    ...of('list watch', '', 'namespaces'),
    ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].flatMap((resource) =>
      of('list watch', registration, resource),
    ),
    ...[policy, policyException].flatMap(({ plural }) => of('patch', GROUP, plural, { subresource: 'status' })),
    ...gateRights(namespace),
  ];
}

const registration = 'admissionregistration.k8s.io';

/** The permissions that the CRD gate needs. */
function gateRights(namespace: string): Right[] {
  const configurations = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'];
  return [
    ...gateKinds.flatMap(({ plural }) => of('get list watch', GROUP, plural)),
    // Its own.
    ...of('get', '', 'namespaces'),
    ...of('list watch', 'apiextensions.k8s.io', 'customresourcedefinitions'),
    ...configurations.flatMap((resource) => [
      ...of('create', registration, resource),
      ...of('get list watch update delete', registration, resource, { name: 'kidp-admission' }),
    ]),
    ...gateKinds.flatMap(({ plural }) => of('patch', GROUP, plural, { subresource: 'status' })),
    ...of('create delete', GROUP, crdRevision.plural),
    ...of('get list watch create update patch delete', 'coordination.k8s.io', 'leases', { namespace }),
    ...of('create', '', 'secrets', { namespace }),
  ];
}

/** The permissions for joining an existing cluster with `kidp up` and leaving it unchanged. */
export function joinRights(namespace: string): Right[] {
  return [
    ...of('get create patch delete', 'apiextensions.k8s.io', 'customresourcedefinitions'),
    ...of('list', 'coordination.k8s.io', 'leases'),
    ...kinds.flatMap(({ plural }) => of('list', GROUP, plural)),
    // Such a run keeps its certificates in memory.
    ...rights(namespace).filter(({ resource }) => resource !== 'secrets'),
  ];
}

/** The permissions for dispatch. Connection Secrets are optional (manifests/connections). */
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
    ...of('get list create patch', '', 'configmaps', { namespace }),
  ];
}

/** The permissions for rollouts. */
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

/** `described` formats permissions: `list, watch teams.platform.company.com; create secrets in kidp-system`. */
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
