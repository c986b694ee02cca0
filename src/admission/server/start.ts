/**
 * Starts a replica of the webhook: certificates, the server, the gates and, if requested, the webhook configurations.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../api/index.ts';
import { DEFAULT_PLATFORM_NAMESPACE } from '../../policy/internal.ts';
import {
  type CertificateSource,
  type Client,
  ConfigError,
  clusterStore,
  directoryStore,
  type Logger,
  memoryStore,
  serveHttps,
  silentLogger,
  startAuthority,
} from '../../runtime/index.ts';
import {
  type CertificateLives,
  type ClientAuthority,
  type ResourceMapping,
  reviewedAccess,
} from '../../runtime/internal.ts';
import { type Configurations, webhookConfigurations } from '../configuration/apply.ts';
import type { FailurePolicies, Installer, WebhookTarget } from '../configuration/build.ts';
import { publishToConfigurations } from '../configuration/ca-bundle.ts';
import { clusterRoleOwner } from '../configuration/owner.ts';
import { startSync, subscribeToAll } from '../configuration/sync.ts';
import type { FailurePolicy } from '../configuration/types.ts';
import { reviewAccess } from '../gates/access.ts';
import { asynchronousGates } from '../gates/asynchronous.ts';
import { type Comparers, type CrdGateOptions, crdMetrics, startComparers } from '../gates/crds/index.ts';
import type { AsyncGate } from '../gates/gate.ts';
import { type Observer, observers } from '../gates/observer.ts';
import type { OwnerLookup } from '../gates/ownership/owner-chain.ts';
import { admissionPipeline, type PipelineOptions } from '../gates/pipeline.ts';
import { defaultBreakGlassGroup } from '../gates/policies/break-glass.ts';
import type { PolicySource } from '../gates/policies/evaluation.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import type { Findings } from '../review/findings.ts';
import { type AdmissionMetrics, admissionMetrics } from './metrics.ts';
import { answerAdmission } from './server.ts';

export interface AdmissionOptions {
  /** The cluster whose API server calls the webhook. Without it, the webhook is served but not registered. */
  client?: Client | undefined;
  /** The listen address. Defaults to the loopback address. */
  host?: string | undefined;
  /** The port. 0 or undefined selects a free port. */
  port?: number | undefined;
  /** Allows several replicas on one machine to share a port. */
  reusePort?: boolean | undefined;
  /** The failurePolicy of the webhooks. */
  failurePolicy?: FailurePolicy | undefined;
  /** The failurePolicy of single webhooks, in place of `failurePolicy`. */
  failurePolicies?: FailurePolicies | undefined;
  /** The ClusterRole with which the webhook configurations are deleted. */
  ownerClusterRole?: string | undefined;
  /** The address under which the API server reaches the webhook. Defaults to the listen address. */
  target?: WebhookTarget | undefined;
  /** The Secret with certificates that all replicas share. Without it, each process has its own. */
  certificateSecret?: { namespace: string; name: string } | undefined;
  /** Certificates from elsewhere, which all replicas share, such as those of cert-manager. Without it, kidp issues its own. */
  certificates?: CertificateSource | undefined;
  /** The directory that keeps the certificates across restarts, without a cluster. */
  certificateDirectory?: string | undefined;
  /** The lifetimes of certificates and the delays of their rotation. The defaults suit a cluster. */
  certificateLives?: CertificateLives | undefined;
  /**
   * The client certificates of the API server. With it, reviews of other callers are refused; without it, the webhook
   * does not know its callers, and `request.caller.trusted` is false.
   */
  clients?: ClientAuthority | undefined;
  /**
   * Whether the callers may be anyone on the network. They then learn whether a request is admitted, and nothing that
   * was read with the rights of the client; the observer, which records Events, is not called.
   */
  untrusted?: boolean | undefined;
  /** The identity of this replica, unique among all replicas. */
  identity?: string | undefined;
  /** The installation of this replica: see `Installer`. */
  installation?: string | undefined;
  /** False for a replica that only serves; the leader then applies `configurations`. */
  install?: boolean | undefined;
  /** The policies. Without it, no policy is evaluated. */
  policies?: PolicySource | undefined;
  /** The owner lookup. Without it, owner chains are unknown. */
  owners?: OwnerLookup | undefined;
  /** The resource mapping of the caller. Without it, the API server is queried. */
  mapping?: (() => ResourceMapping) | undefined;
  /** Checks Policies and PolicyExceptions. */
  policyGate?:
    | ((
        request: AdmissionRequest,
        deadline: Deadline,
        author: { readonly readsExisting: boolean },
      ) => Promise<Findings>)
    | undefined;
  /** Enables the CRD gate, which has a webhook of its own. */
  crds?: CrdGateOptions | undefined;
  /** Registers only the webhooks of the CRD gate and of Approvals, on which it depends. */
  crdsOnly?: boolean | undefined;
  /**
   * Reports whether a rollout with breaking definitions requires an Approval in an environment. Without it, this is
   * unknown.
   */
  asksAboutBreaking?: ((environment: Environment) => boolean) | undefined;
  /** Additional gates, evaluated after the policies. */
  extraGates?: readonly AsyncGate[] | undefined;
  /** The users that may remove the finalizer. Defaults to the user of the client. */
  reconcilers?: readonly string[] | undefined;
  /** False if admitted objects are not dispatched to brokers: they can then be deleted immediately. */
  dispatches?: boolean | undefined;
  /** The group whose members can relax and delete a Policy whatever other Policies say, and while no replica answers. */
  breakGlassGroup?: string | undefined;
  /** The platform namespace, which is exempt from policies like kube-system. */
  platformNamespace?: string | undefined;
  /** More namespaces that policies exempt. */
  excludedNamespaces?: readonly string[] | undefined;
  observer?: Observer | undefined;
  metrics?: AdmissionMetrics | undefined;
  /** The maximum number of reviews in flight. */
  mostInFlight?: number | undefined;
  /** The maximum number of bytes of reviews in flight. */
  mostBytes?: number | undefined;
  /** The time that connections are still served after `stop`, so that clients can move to another replica. */
  drainMilliseconds?: number | undefined;
  log?: Logger | undefined;
}

export interface Admission {
  readonly url: string;
  readonly port: number;
  /** The CA bundle for clients, in PEM form. It changes when certificates rotate. */
  readonly caBundle: string;
  /** The serving certificates, for other servers of this process with the same names. */
  readonly certificates: CertificateSource;
  /** Whether the replica serves, its policies are synced, and it is not about to stop. */
  readonly ready: boolean;
  /**
   * The webhook configurations, for the leader. With `install`, they are applied here and removed by `stop`. Undefined
   * without a cluster.
   */
  readonly configurations: Configurations | undefined;
  /** Removes the webhook configurations if this replica installed them, finishes requests in flight, and stops. */
  stop(): Promise<void>;
}

/**
 * The time that an API server may take to notice a removed configuration or another replica. Until then it still calls.
 */
const farewellMilliseconds = 1000;
const syncLimitMilliseconds = 120_000;

export async function startAdmission(options: AdmissionOptions = {}): Promise<Admission> {
  const { client, host = '127.0.0.1', policies, install = true } = options;
  const log = options.log ?? silentLogger;
  const installer: Installer = {
    id: randomUUID(),
    sharesCertificates: (options.certificates ?? options.certificateSecret) !== undefined,
    installation: options.installation,
  };
  const undo: (() => Promise<void>)[] = [];
  const certificates = options.certificates ?? (await issueCertificates(options, installer, undo));
  const comparers = startComparers();
  undo.unshift(() => comparers.stop());
  let isReady = () => false;
  try {
    const synced = () => policies?.synced() !== false;
    const serving = await serveHttps({
      certificates,
      clients: options.clients,
      ...(await answersOf(options, log, { synced, ready: () => isReady(), comparers })),
      host,
      port: options.port ?? 0,
      reusePort: options.reusePort ?? false,
    });
    const drain = client === undefined ? 0 : (options.drainMilliseconds ?? farewellMilliseconds);
    undo.unshift(() => serving.stop({ drainMilliseconds: drain }));
    const configurations =
      client === undefined
        ? undefined
        : webhookConfigurations({
            client,
            installer,
            target: options.target ?? { url: serving.url },
            failurePolicy: options.failurePolicy ?? 'Fail',
            failurePolicies: options.failurePolicies,
            owner:
              options.ownerClusterRole === undefined
                ? undefined
                : clusterRoleOwner(client, options.ownerClusterRole, log),
            bundle: () => certificates.bundle(),
            mapping: options.mapping,
            platformNamespace: options.platformNamespace ?? DEFAULT_PLATFORM_NAMESPACE,
            excludedNamespaces: options.excludedNamespaces,
            crds: options.crdsOnly === true ? 'only' : options.crds !== undefined,
            breakGlassGroup: options.breakGlassGroup ?? defaultBreakGlassGroup,
          });
    if (configurations !== undefined && install)
      undo.unshift(await installAndSync(configurations, certificates, policies, log));
    isReady = () => synced() && !serving.draining;
    return admissionOf({ serving, certificates, configurations, isReady, undo });
  } catch (error) {
    await cleanUp(undo).catch(() => {});
    throw error;
  }
}

async function issueCertificates(
  options: AdmissionOptions,
  installer: Installer,
  undo: (() => Promise<void>)[],
): Promise<CertificateSource> {
  const { client, host = '127.0.0.1' } = options;
  const authority = await startAuthority({
    store: storeOf(options),
    identity: options.identity ?? `${hostname()}-${process.pid}`,
    names: namesOf(host, options.target),
    log: options.log ?? silentLogger,
    ...options.certificateLives,
    ...(client === undefined ? {} : { publish: publishToConfigurations(client, installer) }),
  });
  undo.unshift(() => authority.stop());
  return authority;
}

async function answersOf(
  options: AdmissionOptions,
  log: Logger,
  { synced, ready, comparers }: { synced: () => boolean; ready: () => boolean; comparers: Comparers },
) {
  const { client, policies, owners, policyGate, mapping, crds, mostInFlight, mostBytes } = options;
  const metrics = options.metrics ?? admissionMetrics();
  const untrusted = options.untrusted ?? false;
  const observer = observers(metrics.observer, untrusted ? undefined : options.observer);
  metrics.authenticates(!untrusted);
  const ask: PipelineOptions['ask'] = client && ((user, signal) => reviewAccess(client, user, signal));
  const reconcilers = options.reconcilers ?? (client === undefined ? [] : await userOf(client, log));
  const pipeline = admissionPipeline({
    policies,
    owners,
    observer,
    reconcilers,
    dispatches: options.dispatches,
    breakGlassGroup: options.breakGlassGroup,
    untrusted,
    ask,
    asyncGates: [
      ...asynchronousGates({
        ...{ client, ask, mapping, policies, owners, reconcilers, policyGate, crds, comparers, untrusted, log },
        asksAboutBreaking: options.asksAboutBreaking,
        crdMetrics: crds && crdMetrics(metrics.registry),
      }),
      ...(options.extraGates ?? []),
    ],
  });
  const authenticates = options.clients !== undefined;
  const metricsAccess = client && reviewedAccess({ client, log });
  return answerAdmission({
    ...{ log, pipeline, ready, synced, metrics, metricsAccess, observer, authenticates, untrusted },
    ...{ mostInFlight, mostBytes },
  });
}

/** Asks the API server for the name of our own user. */
async function userOf(client: Client, log: Logger): Promise<string[]> {
  const { status, text } = await client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  if (status >= 300) {
    log.warn('SelfSubjectReview failed; only configured reconcilers can remove the finalizer', { status });
    return [];
  }
  const { userInfo } = (JSON.parse(text) as { status?: { userInfo?: { username?: string } } }).status ?? {};
  return userInfo?.username === undefined ? [] : [userInfo.username];
}

/**
 * Installs the configurations once the policies are synced, and re-applies them on every change. Returns a function
 * that removes them.
 */
async function installAndSync(
  configurations: Configurations,
  certificates: CertificateSource,
  policies: PolicySource | undefined,
  log: Logger,
): Promise<() => Promise<void>> {
  await untilSynced(policies);
  const apply = () => configurations.apply(policies?.current().set.scope ?? []);
  await apply();
  const sync = startSync({
    apply,
    subscribe: subscribeToAll(certificates, { subscribe: (changed) => policies?.subscribe?.(changed) ?? (() => {}) }),
    log,
  });
  // The policies may have changed during the first run.
  sync.trigger();
  const unwatch = configurations.watch(() => sync.trigger());
  return async () => {
    await unwatch();
    await sync.stop();
    await configurations.remove();
  };
}

async function untilSynced(policies: PolicySource | undefined): Promise<void> {
  const end = Date.now() + syncLimitMilliseconds;
  while (policies?.synced() === false) {
    if (Date.now() > end) {
      throw new ConfigError({
        code: 'policies-not-synced',
        message: `Policies were not synced within ${syncLimitMilliseconds / 1000} s`,
        hint: 'Check that the CRDs of platform.company.com are installed and that kidp may list their objects',
      });
    }
    await sleep(20);
  }
}

interface Parts {
  readonly serving: { readonly url: string; readonly port: number };
  readonly certificates: CertificateSource;
  readonly configurations: Configurations | undefined;
  readonly isReady: () => boolean;
  readonly undo: readonly (() => Promise<void>)[];
}

function admissionOf({ serving, certificates, configurations, isReady, undo }: Parts): Admission {
  const { url, port } = serving;
  let stopped: Promise<void> | undefined;
  return {
    url,
    port,
    configurations,
    certificates,
    get caBundle() {
      return certificates.bundle().pem;
    },
    get ready() {
      return isReady();
    },
    stop() {
      stopped ??= cleanUp(undo);
      return stopped;
    },
  };
}

/** Runs all cleanup steps even if one fails, and throws the first error. */
async function cleanUp(undo: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of undo) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

function storeOf({ client, certificateSecret, certificateDirectory }: AdmissionOptions) {
  if (client !== undefined && certificateSecret !== undefined) return clusterStore({ client, ...certificateSecret });
  return certificateDirectory === undefined ? memoryStore() : directoryStore(certificateDirectory);
}

/** Lists the names of the serving certificate: those that the API server uses, and those of the local machine. */
function namesOf(host: string, target: WebhookTarget | undefined): string[] {
  const local = ['localhost', '127.0.0.1', '::1'];
  const listened = host === '0.0.0.0' || host === '::' ? [] : [host];
  if (target === undefined) return [...new Set([...listened, ...local])];
  if ('url' in target)
    return [...new Set([new URL(target.url).hostname.replace(/^\[|\]$/g, ''), ...listened, ...local])];
  const { namespace, name } = target.service;
  return [...new Set([`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`, ...listened, ...local])];
}
