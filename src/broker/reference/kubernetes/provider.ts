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
  type UnknownObject,
} from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { type Credentials, type Provider, type ProviderState, permanent, type Removal } from '../provider.ts';
import type { DeploymentRecord, Report } from '../record.ts';
import { adopt } from './adoption.ts';
import { type ApplyContext, applyAll, type Find, findDrift, prune } from './apply.ts';
import { environmentOf } from './bindings.ts';
import { cacheCapabilities, cacheSecretName, cacheValues } from './cache.ts';
import { getOrUndefined, refOf, watchCluster } from './cluster-cache.ts';
import { revisionOf, rotationAnnotations, rotationDue, type SecretObject, valuesOf } from './credentials.ts';
import { databaseSecretName, databaseValues } from './database.ts';
import { engines } from './engines.ts';
import { failureOf } from './failures.ts';
import { type ManifestContext, manifestsFor } from './manifests.ts';
import { bounded, isOurs, labelValue, namespaceOf, ROTATE_LABEL } from './names.ts';
import { outputsOf, serviceReport } from './outputs.ts';
import { readinessOf } from './readiness.ts';
import { clusterRecords } from './records.ts';
import { deleteObjects } from './removal.ts';
import { type Manifest, namespaces, resourceOf, secrets } from './resources.ts';
import { secretName, secretValues } from './secret.ts';

interface KubernetesProviderOptions {
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
  const cluster = watchCluster(options.client, broker, (label) => changed(uids.get(label) ?? label));
  /** What a dry run has found to be in line, by reference: asked once for each state. */
  const confirmed = new Map<string, string>();
  const forgetConfirmed = (refs: readonly string[]) => {
    for (const ref of refs) confirmed.delete(ref);
  };
  const ensured = new Set<string>();

  const watched: Find = async (resource, key) => cluster.find(resource, key);
  const stored: Find = (resource, key) => getOrUndefined(client, resource, key);

  const secretOf = async (request: DeploymentRequest, find: Find): Promise<SecretObject | undefined> => {
    const name = secretNameOf(request);
    if (name === undefined) return undefined;
    const key = { namespace: namespaceOf(request), name };
    const known = find === stored ? undefined : await find(secrets, key);
    const live = (known ?? (await stored(secrets, key))) as SecretObject | undefined;
    return live !== undefined && isOurs(live.metadata, request) ? live : undefined;
  };

  const contextFor = async (request: DeploymentRequest, present: SecretObject | undefined, renew: boolean) => {
    const before = valuesOf(present);
    const rotation = rotationOf(request);
    const store = request.target.parameters?.secretStoreNamespace;
    const readStore = async (name: string) => {
      const found = await getOrUndefined<SecretObject>(client, secrets, { namespace: store ?? '', name });
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
        const found = await getOrUndefined<SecretObject>(client, secrets, { namespace: from, name });
        return found === undefined ? undefined : valuesOf(found);
      },
    });

  const ensureNamespace = async (name: string): Promise<void> => {
    if (ensured.has(name)) return;
    try {
      const labels = { 'app.kubernetes.io/managed-by': 'kidp-broker' };
      if ((await getOrUndefined(client, namespaces, { name })) === undefined) {
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
  ): Promise<ProviderState> => {
    const { request } = record;
    uids.set(labelValue(record.uid), record.uid);
    const context = await contextFor(request, present, renew);
    const environment = request.resource.kind === 'Service' ? await connectionsOf(request) : {};
    const manifests = manifestsFor(request, { ...context, environment });
    await ensureNamespace(namespaceOf(request));
    const making: ApplyContext = { client, cluster, request };
    const made = await applyAll(making, manifests).catch((error: unknown) => {
      // Somebody may have deleted the namespace since: the next try looks.
      ensured.delete(namespaceOf(request));
      throw error;
    });
    const earlier = Object.keys(digestsIn(record));
    await prune(making, new Set(made.objects.keys()), earlier);
    // What was found to be in line was so with what was there before.
    forgetConfirmed([...made.objects.keys(), ...earlier]);
    const notes = { ...record.notes, namespace: namespaceOf(request), made: JSON.stringify(made.digests) };
    const workload = workloadIn(manifests);
    const object = workload === undefined ? undefined : made.objects.get(refOf(workload));
    return { ...seen(record, object, context.values), notes };
  };

  const seen = (
    record: DeploymentRecord,
    object: UnknownObject | undefined,
    values: Readonly<Record<string, string>>,
    wasReady = false,
  ): ProviderState => {
    const { request } = record;
    const readiness =
      object === undefined ? ({ phase: 'ready' } as const) : readinessOf(object, cluster.podsOf(record.uid), wasReady);
    const rest: Partial<Report> = {
      outputs: outputsOf(request, values),
      ...(Object.keys(values).length === 0 ? {} : { credentialsRevision: revisionOf(withoutPrevious(values)) }),
      ...(request.resource.kind === 'Service' && object !== undefined ? serviceReport(request, object) : {}),
    };
    return { report: { ...readiness, ...rest }, requeueAfterMilliseconds: lookAgainMilliseconds };
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
      get isLeader() {
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
      if ((await getOrUndefined(options.client, namespaces, { name: namespace })) === undefined) {
        await options.client
          .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
          .catch((error: unknown) => {
            if (!isAlreadyExists(error)) throw error;
          });
      }
      await Promise.all([records.start(), cluster.start()]);
      for (const { record } of records.all()) uids.set(labelValue(record.uid), record.uid);
    },
    prepare: (record) => adopt(record, { client, records, now: now() }),
    apply: async (record) => {
      // The watch may be behind what this broker itself has just made: from old values it would make old ones again.
      const present = await secretOf(record.request, stored);
      const due = rotationDue(present, rotationOf(record.request), now());
      return bringAbout(record, present, present !== undefined && due !== undefined && due <= 0);
    },
    async observe(record) {
      const { request } = record;
      const look = async (from: Find) => {
        const present = await secretOf(request, from);
        const context = await shapeOf(request, present, from);
        const manifests = manifestsFor(request, context);
        const drift = await findDrift(client, from, manifests, digestsIn(record), confirmed);
        return { from, present, context, manifests, drift };
      };
      let looked = await look(watched);
      // What is watched may be behind what this broker itself has just made.
      if (looked.drift.length > 0) looked = await look(stored);
      const { from, present, context, manifests, drift } = looked;
      const due = present === undefined ? undefined : rotationDue(present, rotationOf(request), now());
      if (drift.length > 0) {
        return {
          report: { phase: 'drifted', message: drift.join('; ') },
          requeueAfterMilliseconds: lookAgainMilliseconds,
        };
      }
      if (due !== undefined && due <= 0) {
        log.info('making new credentials', { deploymentId: record.deploymentId });
        return bringAbout(record, present, true);
      }
      // Of what was just found to be as it was made, and not of what was there before: that may have been ready.
      const workload = workloadIn(manifests);
      const { namespace: where = '', name = '' } = workload?.metadata ?? {};
      const object = workload === undefined ? undefined : await from(resourceOf(workload), { namespace: where, name });
      const result = seen(record, object, context.values, record.report.phase === 'ready');
      const again = Math.min(due ?? Number.POSITIVE_INFINITY, result.requeueAfterMilliseconds ?? lookAgainMilliseconds);
      return { ...result, requeueAfterMilliseconds: again };
    },
    async remove(record): Promise<Removal> {
      const left = await deleteObjects(client, record, cluster);
      if (left.length === 0) {
        uids.delete(labelValue(record.uid));
        forgetConfirmed(Object.keys(digestsIn(record)));
        return { gone: true };
      }
      const message = `waiting for what it is made of to be gone: ${left.map(({ kind }) => kind).join(', ')}`;
      return { gone: false, message, requeueAfterMilliseconds: removalMilliseconds };
    },
    async credentials(record): Promise<Credentials | undefined> {
      const { request } = record;
      const valuesIn = (secret: SecretObject | undefined) => withoutPrevious(valuesOf(secret));
      let present = await secretOf(request, watched);
      // The report speaks of other values than the watch has seen yet: those before it would be taken, and never told again.
      if (revisionOf(valuesIn(present)) !== record.report.credentialsRevision)
        present = await secretOf(request, stored);
      if (present === undefined) return undefined;
      const values = valuesIn(present);
      const revision = revisionOf(values);
      const { name, namespace: where = '' } = present.metadata;
      // What the platform would write lies there already: a Secret of the platform is its Kubernetes Secret, and no other kind's is.
      const isThere = managementCluster && request.resource.kind === 'Secret' && where === request.resource.namespace;
      return isThere ? { revision, secretRef: { namespace: where, name } } : { revision, values };
    },
    async stop() {
      await Promise.all([records.stop(), cluster.stop()]);
    },
  };

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

const workloadIn = (manifests: readonly Manifest[]): Manifest | undefined =>
  manifests.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');

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
