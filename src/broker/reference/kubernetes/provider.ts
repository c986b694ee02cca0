/**
 * The provider that makes things in a Kubernetes cluster. It makes them by server-side apply, follows them by watching, and keeps
 * its records in a namespace of the same cluster. Of several instances the one that holds a Lease works; its writes are fenced, so
 * that one that was stopped for long cannot write over its successor.
 */
import {
  type Client,
  fenced,
  isAlreadyExists,
  LeaderElection,
  type Logger,
  type Resource,
  type UnknownObject,
} from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { type Credentials, type Provider, permanent, type Removal, type Seen } from '../provider.ts';
import type { DeploymentRecord, Report } from '../record.ts';
import { environmentOf } from './bindings.ts';
import { cacheCapabilities, cacheName, cacheSecretName, cacheValues } from './cache.ts';
import { revisionOf, rotationAnnotations, rotationDue, type SecretObject, valuesOf } from './credentials.ts';
import { databaseName, databaseSecretName, databaseValues } from './database.ts';
import { engines } from './engines.ts';
import { failureOf } from './failures.ts';
import { driftOf, type Find, type Making, make, prune } from './made.ts';
import { type ManifestContext, manifestsFor } from './manifests.ts';
import { bounded, isOurs, labelValue, namespaceOf, ROTATE_LABEL, selectorOf, UID_LABEL } from './names.ts';
import { readinessOf, replicasOf } from './readiness.ts';
import { clusterRecords } from './records.ts';
import { derivedResources, type Manifest, madeResources, namespaces, secrets } from './resources.ts';
import { secretName, secretValues } from './secret.ts';
import { serviceName } from './service.ts';
import { getIfThere, refOf, watchWorld } from './world.ts';

export interface KubernetesProviderOptions {
  /** The name of the broker. */
  readonly broker: string;
  readonly client: Client;
  /** With connections of its own (see ElectionOptions). */
  readonly leaseClient: Client;
  /** Where records and the Lease are; made where it is not there. */
  readonly namespace: string;
  readonly decrypt: (jwe: string) => Promise<Record<string, string>>;
  /** The cluster is the platform's own: connections are read there, and a Secret of the platform is the Secret that is made. */
  readonly managementCluster?: boolean;
  /** Images in place of the usual ones, by engine. */
  readonly images?: Readonly<Record<string, string>>;
  readonly leaseMilliseconds?: number;
  readonly now?: () => number;
  readonly log: Logger;
}

/** Watching misses nothing that it is told; this is for what it is not told of, such as values that fall due. */
const lookAgainMilliseconds = 30 * 60_000;
const removalMilliseconds = 1_000;

export function kubernetesProvider(options: KubernetesProviderOptions): Provider {
  const { broker, namespace, log, managementCluster = false, images = {}, now = Date.now } = options;
  const records = clusterRecords(options.client, namespace, broker);
  const leaseMilliseconds = options.leaseMilliseconds ?? 15_000;
  const election = new LeaderElection({
    client: options.leaseClient,
    lease: { namespace, name: bounded(`kidp-broker-${broker}`, 63) },
    leaseDurationMilliseconds: leaseMilliseconds,
    renewDeadlineMilliseconds: (leaseMilliseconds * 2) / 3,
    retryPeriodMilliseconds: leaseMilliseconds / 7.5,
    log,
  });
  const client = fenced(options.client, election);
  let changed: (uid: string) => void = () => {};
  const uids = new Map<string, string>();
  const world = watchWorld(options.client, broker, (label) => changed(uids.get(label) ?? label));
  /** What a dry run has found to be in line, by reference: asked once for each state. */
  const confirmed = new Map<string, string>();
  const ensured = new Set<string>();

  const watched: Find = async (resource, key) => world.find(resource, key);
  const stored: Find = (resource, key) => getIfThere(client, resource, key);

  const secretOf = async (request: DeploymentRequest, find: Find = watched): Promise<SecretObject | undefined> => {
    const name = secretNameOf(request);
    if (name === undefined) return undefined;
    const key = { namespace: namespaceOf(request), name };
    const live = ((await find(secrets, key)) ?? (await stored(secrets, key))) as SecretObject | undefined;
    return live !== undefined && isOurs(live.metadata, broker, request.resource.uid) ? live : undefined;
  };

  const contextFor = async (request: DeploymentRequest, present: SecretObject | undefined, renew: boolean) => {
    const before = valuesOf(present);
    const rotation = rotationOf(request);
    const store = request.target.parameters?.secretStoreNamespace;
    const readStore = async (name: string) => {
      const found = await getIfThere<SecretObject>(client, secrets, { namespace: store ?? '', name });
      return found === undefined ? undefined : valuesOf(found);
    };
    const { kind } = request.resource;
    const values =
      kind === 'Database'
        ? databaseValues(request, before, renew)
        : kind === 'Cache'
          ? cacheValues(request, before, renew)
          : kind === 'Secret'
            ? await secretValues(request, before, renew, store === undefined ? undefined : readStore)
            : {};
    const context: ManifestContext = {
      values,
      rotation: rotationAnnotations(present, rotation, renew || present === undefined, now()),
      environment: {},
      images,
    };
    return context;
  };

  const connectionsOf = (request: DeploymentRequest) =>
    environmentOf(request, {
      decrypt: async (jwe) => {
        try {
          return await options.decrypt(jwe);
        } catch (error) {
          throw permanent('binding-undecipherable', `a connection cannot be decrypted: ${(error as Error).message}`);
        }
      },
      secret: async (from, name) => {
        if (!managementCluster) return undefined;
        const found = await getIfThere<SecretObject>(client, secrets, { namespace: from, name });
        return found === undefined ? undefined : valuesOf(found);
      },
    });

  const ensureNamespace = async (name: string): Promise<void> => {
    if (ensured.has(name)) return;
    try {
      const labels = { 'app.kubernetes.io/managed-by': 'kidp-broker' };
      if ((await getIfThere(client, namespaces, { name })) === undefined) {
        await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
      }
    } catch (error) {
      if (!isAlreadyExists(error)) throw failureOf(error, `making the namespace ${name}`);
    }
    ensured.add(name);
  };

  const bringAbout = async (
    record: DeploymentRecord,
    present: SecretObject | undefined,
    renew: boolean,
  ): Promise<Seen> => {
    const { request } = record;
    uids.set(labelValue(record.uid), record.uid);
    const context = await contextFor(request, present, renew);
    const environment = request.resource.kind === 'Service' ? await connectionsOf(request) : {};
    const manifests = manifestsFor(request, { ...context, environment });
    await ensureNamespace(namespaceOf(request));
    const making: Making = { client, world, request };
    const made = await make(making, manifests).catch((error: unknown) => {
      // Somebody may have deleted the namespace since: the next try looks.
      ensured.delete(namespaceOf(request));
      throw error;
    });
    const earlier = Object.keys(digestsIn(record));
    await prune(making, new Set(made.objects.keys()), earlier);
    const notes = { ...record.notes, namespace: namespaceOf(request), made: JSON.stringify(made.digests) };
    const find = (manifest: Manifest) => made.objects.get(refOf(manifest));
    return { ...seen(record, manifests, find, context.values), notes };
  };

  const seen = (
    record: DeploymentRecord,
    manifests: readonly Manifest[],
    find: (manifest: Manifest) => UnknownObject | undefined,
    values: Readonly<Record<string, string>>,
    wasReady = false,
  ): Seen => {
    const { request } = record;
    const workload = manifests.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
    const object = workload === undefined ? undefined : find(workload);
    const readiness =
      object === undefined ? ({ phase: 'ready' } as const) : readinessOf(object, world.podsOf(record.uid), wasReady);
    const rest: Partial<Report> = {
      outputs: outputsOf(request, values),
      ...(Object.keys(values).length === 0 ? {} : { credentialsRevision: revisionOf(withoutPrevious(values)) }),
      ...(request.resource.kind === 'Service' && object !== undefined ? serviceReport(request, object) : {}),
    };
    return { report: { ...readiness, ...rest }, againAfterMilliseconds: lookAgainMilliseconds };
  };

  return {
    capabilities: [
      'Service',
      'Secret',
      ...Object.keys(engines).map((engine) => `Database/${engine}`),
      ...cacheCapabilities,
    ],
    records,
    leadership: {
      exclusive: false,
      get leads() {
        return election.leading;
      },
      async acquire(signal) {
        if (!(await election.acquire(signal))) throw signal.reason;
      },
      lost: election.signal,
      release: () => election.release(),
    },
    async start(tell) {
      changed = tell;
      // Not fenced: who only takes requests needs it too.
      if ((await getIfThere(options.client, namespaces, { name: namespace })) === undefined) {
        await options.client
          .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
          .catch((error: unknown) => {
            if (!isAlreadyExists(error)) throw error;
          });
      }
      await Promise.all([records.start(), world.start()]);
      for (const { record } of records.all()) uids.set(labelValue(record.uid), record.uid);
    },
    bring: async (record) => {
      const present = await secretOf(record.request);
      const due = rotationDue(present, rotationOf(record.request), now());
      return bringAbout(record, present, present !== undefined && due !== undefined && due <= 0);
    },
    async observe(record) {
      const { request } = record;
      const look = async (from: Find) => {
        const present = await secretOf(request, from);
        const context = await shapeOf(request, present, from);
        const manifests = manifestsFor(request, context);
        const drift = await driftOf(client, from, manifests, digestsIn(record), confirmed);
        return { present, context, manifests, drift };
      };
      let looked = await look(watched);
      // What is watched may be behind what this broker itself has just made.
      if (looked.drift.length > 0) looked = await look(stored);
      const { present, context, manifests, drift } = looked;
      const due = present === undefined ? undefined : rotationDue(present, rotationOf(request), now());
      if (drift.length > 0) {
        return {
          report: { phase: 'drifted', message: drift.join('; ') },
          againAfterMilliseconds: lookAgainMilliseconds,
        };
      }
      if (due !== undefined && due <= 0) {
        log.info('making new credentials', { deploymentId: record.deploymentId });
        return bringAbout(record, present, true);
      }
      const find = ({ kind, metadata }: Manifest) => {
        const type = madeResources.find((each) => each.kind === kind);
        return type === undefined
          ? undefined
          : world.find(type, { namespace: metadata.namespace ?? '', name: metadata.name });
      };
      const result = seen(record, manifests, find, context.values, record.report.phase === 'ready');
      const again = Math.min(due ?? Number.POSITIVE_INFINITY, result.againAfterMilliseconds ?? lookAgainMilliseconds);
      return { ...result, againAfterMilliseconds: again };
    },
    async remove(record): Promise<Removal> {
      const { request, uid } = record;
      const where = record.notes.namespace ?? namespaceOf(request);
      // Of a Secret nothing else is ever made, and it is gone at once: to ask for all the rest would take most of the time of many.
      const isSecret = request.resource.kind === 'Secret';
      const parts = isSecret ? [secrets] : [...madeResources, ...derivedResources];
      let left = await takeAway(parts, where, uid);
      if (isSecret && left.length > 0) left = await takeAway(parts, where, uid);
      if (left.length === 0) {
        uids.delete(labelValue(uid));
        return { gone: true };
      }
      const message = `waiting for what it is made of to be gone: ${left.map(({ kind }) => kind).join(', ')}`;
      return { gone: false, message, againAfterMilliseconds: removalMilliseconds };
    },
    async credentials(record): Promise<Credentials | undefined> {
      const { request } = record;
      const present = await secretOf(request);
      if (present === undefined) return undefined;
      const values = withoutPrevious(valuesOf(present));
      const revision = revisionOf(values);
      const { name, namespace: where = '' } = present.metadata;
      // What the platform would write lies there already: a Secret of the platform is its Kubernetes Secret, and no other kind's is.
      const isThere = managementCluster && request.resource.kind === 'Secret' && where === request.resource.namespace;
      return isThere ? { revision, secretRef: { namespace: where, name } } : { revision, values };
    },
    async stop() {
      await Promise.all([records.stop(), world.stop()]);
    },
  };

  /** Deletes what was made for an object. Returns the resources of which there was something. */
  async function takeAway(resources: readonly Resource[], where: string, uid: string): Promise<Resource[]> {
    const labelSelector = `${UID_LABEL}=${labelValue(uid)}`;
    const found = await Promise.all(
      resources.map(async (resource) => {
        const { items } = await client.list(resource, { namespace: where, labelSelector });
        return { resource, items: items.filter(({ metadata }) => isOurs(metadata, broker, uid)) };
      }),
    );
    for (const { resource, items } of found) {
      // What Kubernetes has made of the rest goes with it.
      if (derivedResources.includes(resource)) continue;
      for (const { metadata } of items) {
        if (metadata.deletionTimestamp !== undefined) continue;
        const preconditions = metadata.uid === undefined ? {} : { uid: metadata.uid };
        await client
          .delete(
            resource,
            { namespace: where, name: metadata.name },
            { propagationPolicy: 'Background', preconditions },
          )
          .catch((error: unknown) => {
            const { status } = error as { status?: number };
            if (status !== 404 && status !== 409) throw failureOf(error, `deleting ${resource.kind} ${metadata.name}`);
          });
      }
    }
    return found.filter(({ items }) => items.length > 0).map(({ resource }) => resource);
  }

  /** The plan as it was made, for comparing: values as they are in the cluster, nothing made up and nothing decrypted. */
  async function shapeOf(
    request: DeploymentRequest,
    present: SecretObject | undefined,
    find: Find,
  ): Promise<ManifestContext> {
    const { kind } = request.resource;
    const values = kind === 'Service' ? {} : valuesOf(present);
    const bound = (request.bindings ?? []).length > 0;
    const key = { namespace: namespaceOf(request), name: bounded(`${request.resource.name}-bindings`, 253) };
    const environment =
      kind === 'Service' && bound ? valuesOf((await find(secrets, key)) as SecretObject | undefined) : {};
    return { values, rotation: rotationAnnotations(present, rotationOf(request), false, now()), environment, images };
  }
}

const digestsIn = (record: DeploymentRecord): Record<string, string> => JSON.parse(record.notes.made ?? '{}');

function secretNameOf(request: DeploymentRequest): string | undefined {
  switch (request.resource.kind) {
    case 'Database':
      return databaseSecretName(request);
    case 'Cache':
      return cacheSecretName(request);
    case 'Secret':
      return secretName(request);
    default:
      return undefined;
  }
}

function rotationOf({ spec, labels, resource }: DeploymentRequest) {
  const of = (spec ?? {}) as { rotationDays?: number; connectionSecret?: { rotationDays?: number } };
  const rotationDays = resource.kind === 'Secret' ? of.rotationDays : of.connectionSecret?.rotationDays;
  return { rotationDays, asked: labels?.[ROTATE_LABEL] };
}

/** The password before is for the server alone. */
function withoutPrevious(values: Readonly<Record<string, string>>): Record<string, string> {
  const { 'previous-password': _, ...others } = values;
  return others;
}

function outputsOf(request: DeploymentRequest, values: Readonly<Record<string, string>>): Record<string, string> {
  const namespace = namespaceOf(request);
  const { host, port, database, type } = values;
  switch (request.resource.kind) {
    case 'Service':
      return { namespace, host: `${serviceName(request)}.${namespace}.svc` };
    case 'Secret':
      return { namespace, secretName: secretName(request) };
    default:
      return {
        namespace,
        name: request.resource.kind === 'Cache' ? cacheName(request) : databaseName(request),
        ...Object.fromEntries(
          Object.entries({ host, port, database, type }).filter(
            (each): each is [string, string] => each[1] !== undefined,
          ),
        ),
      };
  }
}

function serviceReport(request: DeploymentRequest, deployment: UnknownObject): Partial<Report> {
  const balancer = (
    request.spec as { loadBalancer?: { enabled?: boolean; host?: string; path?: string; tls?: object } }
  ).loadBalancer;
  const exposed = balancer !== undefined && balancer.enabled !== false && balancer.host !== undefined;
  return {
    ...replicasOf(deployment),
    selector: Object.entries(selectorOf(request, 'service'))
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
    ...(exposed
      ? { url: `${balancer.tls === undefined ? 'http' : 'https'}://${balancer.host}${balancer.path ?? '/'}` }
      : {}),
  };
}
