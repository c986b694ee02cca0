/**
 * The provider that deploys to a Kubernetes cluster. It creates objects with server-side apply, watches them, and keeps its
 * records in a namespace of the same cluster. The instance that holds a Lease does the work; its writes are fenced, so that an
 * instance that was suspended cannot overwrite its successor.
 */
import {
  type Client,
  fenced,
  isAlreadyExists,
  LeaderElection,
  type Logger,
  type UnknownObject,
} from '../../../runtime/index.ts';
import type { Credentials, Leadership, Provider, ProviderState, RecordStore, Removal } from '../provider.ts';
import type { DeploymentRecord, Report } from '../record.ts';
import { adopt } from './adoption.ts';
import { type ApplyContext, applyAll, type Find, findDrift, prune } from './apply.ts';
import { cacheCapabilities } from './cache.ts';
import { type ClusterCache, getOrUndefined, refOf, watchCluster } from './cluster-cache.ts';
import { ContextReader } from './context.ts';
import { revisionOf, type SecretObject, valuesOf } from './credentials.ts';
import { engines } from './engines.ts';
import { failureOf } from './failures.ts';
import { manifestsFor } from './manifests.ts';
import { bounded, labelValue, namespaceOf } from './names.ts';
import { outputsOf, serviceReport } from './outputs.ts';
import { readinessOf } from './readiness.ts';
import { ClusterRecords } from './records.ts';
import { deleteObjects } from './removal.ts';
import { type Manifest, namespaces, resourceOf } from './resources.ts';
import { requireUsableSecrets } from './usable-secrets.ts';

interface KubernetesProviderOptions {
  /** The name of the broker. */
  readonly broker: string;
  readonly client: Client;
  /** A client with connections of its own (see ElectionOptions). */
  readonly leaseClient: Client;
  /** The namespace of the records and the Lease; created if it does not exist. */
  readonly namespace: string;
  readonly decrypt: (jwe: string) => Promise<Record<string, string>>;
  /** True in the platform's own cluster: connections are read there, and a platform Secret is its Kubernetes Secret. */
  readonly managementCluster?: boolean;
  /** Images that replace the default ones, by engine. */
  readonly images?: Readonly<Record<string, string>>;
  readonly leaseMilliseconds?: number;
  readonly now?: () => number;
  readonly log: Logger;
}

/** Watches report every change of an object; this interval covers what no watch reports, such as credentials that fall due. */
const resyncMilliseconds = 30 * 60_000;
const removalMilliseconds = 1_000;

export const kubernetesProvider = (options: KubernetesProviderOptions): Provider => new KubernetesProvider(options);

class KubernetesProvider implements Provider {
  readonly capabilities = [
    'Service',
    'Secret',
    ...Object.keys(engines).map((engine) => `Database/${engine}`),
    ...cacheCapabilities,
  ];
  readonly records: RecordStore;
  readonly leadership: Leadership;
  readonly #options: KubernetesProviderOptions;
  readonly #records: ClusterRecords;
  /** Writes only while this instance holds the Lease. */
  readonly #client: Client;
  readonly #cluster: ClusterCache;
  readonly #context: ContextReader;
  readonly #now: () => number;
  readonly #uidsByLabel = new Map<string, string>();
  /** Digests that a dry run found to be in sync, by reference: each state is checked once. */
  readonly #confirmed = new Map<string, string>();
  readonly #ensuredNamespaces = new Set<string>();
  #changed: (uid: string) => void = () => {};

  constructor(options: KubernetesProviderOptions) {
    const { broker, namespace, decrypt, managementCluster = false, images = {}, now = Date.now } = options;
    const election = leaderElection(options);
    this.#options = options;
    this.#now = now;
    this.#records = new ClusterRecords(options.client, namespace, broker);
    this.#client = fenced(options.client, election);
    this.#cluster = watchCluster(options.client, broker, (label) =>
      this.#changed(this.#uidsByLabel.get(label) ?? label),
    );
    this.#context = new ContextReader({ client: this.#client, decrypt, managementCluster, images, now });
    this.records = this.#records;
    this.leadership = leadershipOf(election);
  }

  async start(changed: (uid: string) => void): Promise<void> {
    const { client, namespace: name } = this.#options;
    this.#changed = changed;
    // The unfenced client, because a standby needs the namespace too.
    if ((await getOrUndefined(client, namespaces, { name })) === undefined) {
      await client
        .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
        .catch((error: unknown) => {
          if (!isAlreadyExists(error)) throw error;
        });
    }
    await Promise.all([this.#records.start(), this.#cluster.start()]);
    for (const { record } of this.#records.all()) this.#uidsByLabel.set(labelValue(record.uid), record.uid);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#records.stop(), this.#cluster.stop()]);
  }

  prepare(record: DeploymentRecord): Promise<DeploymentRecord['notes'] | undefined> {
    return adopt(record, { client: this.#client, records: this.#records, now: this.#now() });
  }

  async apply(record: DeploymentRecord): Promise<ProviderState> {
    // The cache may be behind this broker's own writes: from stale values it would restore old credentials.
    const present = await this.#context.secretOf(record.request, this.#context.stored);
    const due = this.#context.rotationDue(record.request, present);
    return this.#deploy(record, present, present !== undefined && due !== undefined && due <= 0);
  }

  async observe(record: DeploymentRecord): Promise<ProviderState> {
    const { request } = record;
    // A mark can be removed while the Service runs.
    await requireUsableSecrets(request, this.#context.stored);
    let compared = await this.#compare(record, this.#cached);
    // The cache may be behind this broker's own writes, so drift is confirmed with the API server.
    if (compared.drift.length > 0) compared = await this.#compare(record, this.#context.stored);
    const { find, present, context, manifests, drift } = compared;
    const due = present === undefined ? undefined : this.#context.rotationDue(request, present);
    if (drift.length > 0) {
      return {
        report: { phase: 'drifted', message: drift.join('; ') },
        requeueAfterMilliseconds: resyncMilliseconds,
      };
    }
    if (due !== undefined && due <= 0) {
      this.#options.log.info('rotating credentials', { deploymentId: record.deploymentId });
      return this.#deploy(record, present, true);
    }
    // Readiness is read from the same source as the comparison: an older copy of the object may have been ready.
    const workload = workloadIn(manifests);
    const { namespace = '', name = '' } = workload?.metadata ?? {};
    const object = workload === undefined ? undefined : await find(resourceOf(workload), { namespace, name });
    const state = this.#stateOf(record, object, context.values, record.report.phase === 'ready');
    const resync = state.requeueAfterMilliseconds ?? resyncMilliseconds;
    return { ...state, requeueAfterMilliseconds: Math.min(due ?? Number.POSITIVE_INFINITY, resync) };
  }

  async remove(record: DeploymentRecord): Promise<Removal> {
    const left = await deleteObjects(this.#client, record, this.#cluster);
    if (left.length === 0) {
      this.#uidsByLabel.delete(labelValue(record.uid));
      this.#forgetConfirmed(Object.keys(digestsIn(record)));
      return { gone: true };
    }
    const message = `waiting for deletion of ${left.map(({ kind }) => kind).join(', ')}`;
    return { gone: false, message, requeueAfterMilliseconds: removalMilliseconds };
  }

  async credentials(record: DeploymentRecord): Promise<Credentials | undefined> {
    const { request } = record;
    const valuesIn = (secret: SecretObject | undefined) => withoutPrevious(valuesOf(secret));
    let present = await this.#context.secretOf(request, this.#cached);
    // The cache has other values than the report: sending stale values would acknowledge them, and the new ones never follow.
    if (revisionOf(valuesIn(present)) !== record.report.credentialsRevision) {
      present = await this.#context.secretOf(request, this.#context.stored);
    }
    if (present === undefined) return undefined;
    const values = valuesIn(present);
    const revision = revisionOf(values);
    const { name, namespace = '' } = present.metadata;
    // A platform Secret in the management cluster is this very Kubernetes Secret, so a reference is enough. Other kinds send values.
    const isInPlace =
      this.#options.managementCluster === true &&
      request.resource.kind === 'Secret' &&
      namespace === request.resource.namespace;
    return isInPlace ? { revision, secretRef: { namespace, name } } : { revision, values };
  }

  readonly #cached: Find = async (resource, key) => this.#cluster.find(resource, key);

  async #deploy(record: DeploymentRecord, present: SecretObject | undefined, renew: boolean): Promise<ProviderState> {
    const { request } = record;
    const namespace = namespaceOf(request);
    this.#uidsByLabel.set(labelValue(record.uid), record.uid);
    await requireUsableSecrets(request, this.#context.stored);
    const context = await this.#context.forDeployment(request, present, renew);
    const manifests = manifestsFor(request, context);
    await this.#ensureNamespace(namespace);
    const applyContext: ApplyContext = { client: this.#client, cluster: this.#cluster, request };
    const applied = await applyAll(applyContext, manifests).catch((error: unknown) => {
      // The namespace may have been deleted since, so the next attempt checks again.
      this.#ensuredNamespaces.delete(namespace);
      throw error;
    });
    const earlier = Object.keys(digestsIn(record));
    await prune(applyContext, new Set(applied.objects.keys()), earlier);
    // The confirmed digests belong to the objects before this deployment.
    this.#forgetConfirmed([...applied.objects.keys(), ...earlier]);
    const notes = { ...record.notes, namespace, made: JSON.stringify(applied.digests) };
    const workload = workloadIn(manifests);
    const object = workload === undefined ? undefined : applied.objects.get(refOf(workload));
    return { ...this.#stateOf(record, object, context.values), notes };
  }

  async #compare(record: DeploymentRecord, find: Find) {
    const { request } = record;
    const present = await this.#context.secretOf(request, find);
    const context = await this.#context.forComparison(request, present, find);
    const manifests = manifestsFor(request, context);
    const drift = await findDrift(this.#client, find, manifests, digestsIn(record), this.#confirmed);
    return { find, present, context, manifests, drift };
  }

  #stateOf(
    { request, uid }: DeploymentRecord,
    object: UnknownObject | undefined,
    values: Readonly<Record<string, string>>,
    wasReady = false,
  ): ProviderState {
    const readiness =
      object === undefined ? ({ phase: 'ready' } as const) : readinessOf(object, this.#cluster.podsOf(uid), wasReady);
    const rest: Partial<Report> = {
      outputs: outputsOf(request, values),
      ...(Object.keys(values).length === 0 ? {} : { credentialsRevision: revisionOf(withoutPrevious(values)) }),
      ...(request.resource.kind === 'Service' && object !== undefined ? serviceReport(request, object) : {}),
    };
    return { report: { ...readiness, ...rest }, requeueAfterMilliseconds: resyncMilliseconds };
  }

  async #ensureNamespace(name: string): Promise<void> {
    if (this.#ensuredNamespaces.has(name)) return;
    try {
      const labels = { 'app.kubernetes.io/managed-by': 'kidp-broker' };
      if ((await getOrUndefined(this.#client, namespaces, { name })) === undefined) {
        await this.#client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
      }
    } catch (error) {
      if (!isAlreadyExists(error)) throw failureOf(error, `creating namespace ${name}`);
    }
    this.#ensuredNamespaces.add(name);
  }

  #forgetConfirmed(refs: readonly string[]): void {
    for (const ref of refs) this.#confirmed.delete(ref);
  }
}

function leaderElection({
  broker,
  leaseClient,
  namespace,
  leaseMilliseconds = 15_000,
  log,
}: KubernetesProviderOptions) {
  return new LeaderElection({
    client: leaseClient,
    lease: { namespace, name: bounded(`kidp-broker-${broker}`, 63) },
    leaseDurationMilliseconds: leaseMilliseconds,
    renewDeadlineMilliseconds: (leaseMilliseconds * 2) / 3,
    retryPeriodMilliseconds: leaseMilliseconds / 7.5,
    log,
  });
}

const leadershipOf = (election: LeaderElection): Leadership => ({
  exclusive: false,
  get isLeader() {
    return election.leading;
  },
  async acquire(signal) {
    if (!(await election.acquire(signal))) throw signal.reason;
  },
  lost: election.signal,
  release: () => election.release(),
});

const workloadIn = (manifests: readonly Manifest[]): Manifest | undefined =>
  manifests.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');

const digestsIn = (record: DeploymentRecord): Record<string, string> => JSON.parse(record.notes.made ?? '{}');

/** Removes the previous password, which only the server needs. */
function withoutPrevious(values: Readonly<Record<string, string>>): Record<string, string> {
  const { 'previous-password': _, ...others } = values;
  return others;
}
