/** A control plane of one's own with the reconcilers of the platform in it: they act on every Team there is. */
import { join } from 'node:path';
import { kindNamed, type Team } from '../../../src/api/index.ts';
import { addPlatformReconcilers, type PlatformReconcilers } from '../../../src/reconcile/index.ts';
import {
  ApiError,
  type Client,
  type Condition,
  EventRecorder,
  getCondition,
  type KubernetesObject,
  Manager,
  type Resource,
  type UnknownObject,
} from '../../../src/runtime/index.ts';
import { events } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type Platform, platformNamespace, startPlatform } from '../../admission/support/platform.ts';

export const manifests = join(import.meta.dirname, '..', '..', '..', 'manifests');
export const patient = { within: 180_000, every: 100 };
export const apiVersion = 'platform.company.com/v1' as const;

export interface RunningPlatform extends Platform {
  readonly reconcilers: PlatformReconcilers;
  /** Ends the manager and starts another one, as a new leader. */
  restart(): Promise<void>;
}

/** The reconcilers run with the rights of manifests/install and manifests/connections, and without those of policies. */
export async function startReconciledPlatform(): Promise<RunningPlatform> {
  const platform = await startPlatform();
  const installed = ['service-account', 'roles', 'role-platform', 'platform-admin'].map((name) => `install/${name}`);
  for (const file of [...installed, 'connections/rbac']) {
    const { code, stderr } = await platform.kubectl(['apply', '-f', join(manifests, `${file}.yaml`)]);
    if (code !== 0) throw new Error(`applying ${file}: ${stderr}`);
  }
  const asItself = platform.client.impersonate({
    user: `system:serviceaccount:${platformNamespace}:kidp`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${platformNamespace}`, 'system:authenticated'],
  });
  let running = startManager(asItself);
  return {
    ...platform,
    get reconcilers() {
      return running.reconcilers;
    },
    async restart() {
      await running.stop();
      running = startManager(asItself);
    },
    async stop() {
      await running.stop();
      await platform.stop();
    },
  };
}

function startManager(client: Client) {
  const manager = new Manager({ client });
  const recorder = new EventRecorder({ client, reportingController: 'platform.company.com/platform' });
  manager.add(recorder);
  const reconcilers = addPlatformReconcilers(manager, { platformNamespace, recorder, settleMilliseconds: 200 });
  const stop = new AbortController();
  const ended = manager.start(stop.signal);
  return {
    reconcilers,
    async stop() {
      stop.abort();
      await ended;
    },
  };
}

const rbac = (kind: string, plural: string, namespaced = true): Resource => ({
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  kind,
  plural,
  namespaced,
});
const core = (kind: string, plural: string): Resource => ({ group: '', version: 'v1', kind, plural, namespaced: true });
export const roles = rbac('Role', 'roles');
export const roleBindings = rbac('RoleBinding', 'rolebindings');
export const quotas = core('ResourceQuota', 'resourcequotas');
export const coreSecrets = core('Secret', 'secrets');
export const networkPolicies: Resource = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'NetworkPolicy',
  plural: 'networkpolicies',
  namespaced: true,
};

/** Any object of a kind of the platform, with the status that somebody else would have written. */
export interface Thing {
  kind: string;
  name: string;
  namespace?: string;
  labels?: Record<string, string>;
  spec?: object;
  status?: object;
}

export const resourceOf = (kind: string): Resource => {
  const found = kindNamed(kind);
  if (found === undefined) throw new Error(`${kind} is no kind of the platform`);
  return found.resource;
};

export async function create(client: Client, { kind, name, namespace, labels, spec, status }: Thing) {
  const metadata = {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
  };
  const created = await client.create(resourceOf(kind), {
    apiVersion,
    kind,
    metadata,
    spec: spec ?? {},
  } as UnknownObject);
  if (status !== undefined) await writeStatus(client, created, status);
  return created;
}

/** As the deployable reconciler does: its own fields, under its own name. */
export const writeStatus = (client: Client, { kind, metadata }: KubernetesObject, status: object) =>
  client.apply(
    resourceOf(kind),
    {
      apiVersion,
      kind,
      metadata: { name: metadata.name, ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }) },
      status,
    } as unknown as UnknownObject,
    { subresource: 'status', fieldManager: 'test', force: true },
  );

export const createTeam = (client: Client, name: string, spec: Partial<Team['spec']> = {}) =>
  create(client, { kind: 'Team', name, spec: { namespace: name, ...spec } });

type Reported = UnknownObject & { status?: { conditions?: Condition[]; [field: string]: unknown } };

/** The object once the condition is as wanted. */
export function whenCondition(
  client: Client,
  { kind, metadata }: KubernetesObject,
  wanted: Partial<Condition>,
): Promise<Reported> {
  const { name, namespace } = metadata;
  return eventually(async () => {
    const object = await client.get<Reported>(resourceOf(kind), {
      name,
      ...(namespace === undefined ? {} : { namespace }),
    });
    const condition = getCondition(object.status?.conditions, wanted.type ?? 'Ready');
    const fits = Object.entries(wanted).every(([field, value]) => condition?.[field as keyof Condition] === value);
    if (!fits) throw new Error(`${kind} ${name}: ${JSON.stringify(object.status)} is not ${JSON.stringify(wanted)}`);
    return object;
  }, patient);
}

export async function isGone(client: Client, resource: Resource, key: { name: string; namespace?: string }) {
  try {
    await client.get(resource, key);
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return true;
    throw error;
  }
}

/** The reasons of the events about an object. */
export async function eventsOf(client: Client, name: string): Promise<string[]> {
  const { items } = await client.list<UnknownObject & { regarding?: { name?: string }; reason?: string }>(events);
  return items.filter(({ regarding }) => regarding?.name === name).map(({ reason }) => reason ?? '');
}
