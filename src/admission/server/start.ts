/** Starts a replica of the webhook: certificates, the server, the gates behind it, and where it is asked to the webhook configurations. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, GROUP, policyException, policy as policyKind } from '../../api/index.ts';
import { DEFAULT_PLATFORM_NAMESPACE } from '../../policy/internal.ts';
import {
  type Authority,
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
import type { CertificateLives, ResourceMapping } from '../../runtime/internal.ts';
import { type Configurations, webhookConfigurations } from '../configuration/apply.ts';
import type { WebhookTarget } from '../configuration/build.ts';
import { publishToConfigurations } from '../configuration/ca-bundle.ts';
import { startSync } from '../configuration/sync.ts';
import type { FailurePolicy } from '../configuration/types.ts';
import { reviewAccess } from '../gates/access.ts';
import { cleanupGate } from '../gates/cleanup.ts';
import {
  approvalVerbGate,
  type Comparers,
  type CrdGateOptions,
  crdGate,
  crdMetrics,
  startComparers,
} from '../gates/crds/index.ts';
import type { AsyncGate } from '../gates/gate.ts';
import { namespaceGate } from '../gates/namespaces/index.ts';
import { type Observer, observers } from '../gates/observer.ts';
import { operatorsGate } from '../gates/operators/index.ts';
import type { OwnerLookup } from '../gates/ownership/owner-chain.ts';
import { admissionPipeline, type PipelineOptions } from '../gates/pipeline.ts';
import type { PolicySource } from '../gates/policies/evaluation.ts';
import type { Deadline } from '../review/deadline.ts';
import type { AdmissionRequest } from '../review/decode.ts';
import type { Findings } from '../review/findings.ts';
import { type AdmissionMetrics, admissionMetrics } from './metrics.ts';
import { answerAdmission } from './server.ts';

export interface AdmissionOptions {
  /** The cluster whose API server shall call us; none: the webhooks are served and nobody is told. */
  client?: Client | undefined;
  /** Where to listen; the default is this machine alone. */
  host?: string | undefined;
  /** 0 or nothing: any free port. */
  port?: number | undefined;
  /** Several replicas of one machine on one port. */
  reusePort?: boolean | undefined;
  /** What becomes of a request when we are away. */
  failurePolicy?: FailurePolicy | undefined;
  /** Where the API server finds us; the default is the address listened on. */
  target?: WebhookTarget | undefined;
  /** Certificates shared by all replicas; without it they are this process's own. */
  certificateSecret?: { namespace: string; name: string } | undefined;
  /** Without a cluster: keeps the certificates over a restart. */
  certificateDirectory?: string | undefined;
  /** How long certificates live, and how long their rotation waits for others; the defaults are for a cluster. */
  certificateLives?: CertificateLives | undefined;
  /** Of this replica, among all. */
  identity?: string | undefined;
  /** What it is a replica of: see `Installer`. */
  installation?: string | undefined;
  /** False for a replica that only serves; whichever leads then drives `configurations`. */
  install?: boolean | undefined;
  /** Without it no policy judges. */
  policies?: PolicySource | undefined;
  /** Without it the chain of owners is unknown. */
  owners?: OwnerLookup | undefined;
  /** Kinds and plurals as somebody keeps them; without it the API server is asked. */
  mapping?: (() => ResourceMapping) | undefined;
  /** Judges a Policy or PolicyException that is written. */
  policyGate?: ((request: AdmissionRequest, deadline: Deadline) => Promise<Findings>) | undefined;
  /** Judges CustomResourceDefinitions that change, in a webhook of its own. Without it nothing does. */
  crds?: CrdGateOptions | undefined;
  /** Whether a rollout whose definitions break somebody waits for an Approval there. Without it that is not known. */
  asksAboutBreaking?: ((environment: Environment) => boolean) | undefined;
  /** Further gates after the policies'. */
  later?: readonly AsyncGate[] | undefined;
  /** Users that may remove the finalizer; without it the one that the client is. */
  reconcilers?: readonly string[] | undefined;
  /** False where what is admitted is not handed to brokers: then it can be deleted at once. */
  dispatches?: boolean | undefined;
  /** Exempt from policies, as kube-system is. */
  platformNamespace?: string | undefined;
  observer?: Observer | undefined;
  metrics?: AdmissionMetrics | undefined;
  /** Reviews at once. */
  mostInFlight?: number | undefined;
  /** Bytes of reviews at once. */
  mostBytes?: number | undefined;
  /** How long connections are still answered after `stop`, so that those who call can move away. */
  drainMilliseconds?: number | undefined;
  log?: Logger | undefined;
}

export interface Admission {
  readonly url: string;
  readonly port: number;
  /** What clients need to trust, PEM. It changes when certificates rotate. */
  readonly caBundle: string;
  /** What it serves with, for others of this process that are found under the same names. */
  readonly certificates: Pick<CertificateSource, 'current' | 'subscribe'>;
  /** Whether it serves, policies are known, and it is not about to stop. */
  readonly ready: boolean;
  /** For the replica that leads. With `install` it is driven from here, and removed by `stop`. None without a cluster. */
  readonly configurations: Configurations | undefined;
  /** Removes the webhook configurations where it has installed them, finishes what is in flight, and ends. */
  stop(): Promise<void>;
}

/** How long an API server may take to notice that the configuration is gone, or another replica there; until then it still calls. */
const farewellMilliseconds = 1000;
const syncLimitMilliseconds = 120_000;

export async function startAdmission(options: AdmissionOptions = {}): Promise<Admission> {
  const { client, host = '127.0.0.1', policies, install = true } = options;
  const log = options.log ?? silentLogger;
  const installer = {
    id: randomUUID(),
    sharesCertificates: options.certificateSecret !== undefined,
    installation: options.installation,
  };
  const authority = await startAuthority({
    store: storeOf(options),
    identity: options.identity ?? `${hostname()}-${process.pid}`,
    names: namesOf(host, options.target),
    log,
    ...options.certificateLives,
    ...(client === undefined ? {} : { publish: publishToConfigurations(client, installer) }),
  });
  const undo: (() => Promise<void>)[] = [() => authority.stop()];
  const comparers = startComparers();
  undo.unshift(() => comparers.stop());
  let isReady = () => false;
  try {
    const synced = () => policies?.synced() !== false;
    const serving = await serveHttps({
      certificates: authority,
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
            bundle: () => authority.bundle(),
            mapping: options.mapping,
            platformNamespace: options.platformNamespace ?? DEFAULT_PLATFORM_NAMESPACE,
            crds: options.crds !== undefined,
          });
    if (configurations !== undefined && install) undo.unshift(await installAndFollow(configurations, policies, log));
    isReady = () => synced() && !serving.draining;
    return admissionOf({ serving, authority, configurations, isReady, undo });
  } catch (error) {
    await takeDown(undo).catch(() => {});
    throw error;
  }
}

async function answersOf(
  options: AdmissionOptions,
  log: Logger,
  { synced, ready, comparers }: { synced: () => boolean; ready: () => boolean; comparers: Comparers },
) {
  const { client, policies, owners, policyGate, crds, mostInFlight, mostBytes } = options;
  const metrics = options.metrics ?? admissionMetrics();
  const observer = observers(metrics.observer, options.observer);
  const ask: PipelineOptions['ask'] = client && ((user, signal) => reviewAccess(client, user, signal));
  const pipeline = admissionPipeline({
    policies,
    owners,
    observer,
    reconcilers: options.reconcilers ?? (client === undefined ? [] : await userOf(client, log)),
    dispatches: options.dispatches,
    ask,
    later: [
      ...(policyGate === undefined ? [] : [gateForPolicies(policyGate)]),
      approvalVerbGate(ask),
      cleanupGate(ask),
      operatorsGate({ client, ask, asksAboutBreaking: options.asksAboutBreaking }),
      ...(client === undefined ? [] : [namespaceGate(client)]),
      ...(crds === undefined
        ? []
        : [crdGate({ ...crds, client, ask, comparers, log, metrics: crdMetrics(metrics.registry) })]),
      ...(options.later ?? []),
    ],
  });
  return answerAdmission({ log, pipeline, ready, synced, metrics, observer, mostInFlight, mostBytes });
}

/** Policies and exceptions that are written, and not only deleted. */
function gateForPolicies(evaluate: NonNullable<AdmissionOptions['policyGate']>): AsyncGate {
  const kinds: readonly string[] = [policyKind.kind, policyException.kind];
  return {
    name: 'policies',
    matches: ({ kind, operation, subResource }) =>
      kind.group === GROUP &&
      kinds.includes(kind.kind) &&
      subResource === undefined &&
      (operation === 'CREATE' || operation === 'UPDATE'),
    evaluate,
  };
}

/** The API server knows best by which name we are known to it. */
async function userOf(client: Client, log: Logger): Promise<string[]> {
  const { status, text } = await client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  });
  if (status >= 300) {
    log.warn('the API server does not say who we are: nobody but who is named may remove the finalizer', { status });
    return [];
  }
  const { userInfo } = (JSON.parse(text) as { status?: { userInfo?: { username?: string } } }).status ?? {};
  return userInfo?.username === undefined ? [] : [userInfo.username];
}

/** Installs the configurations once the policies are known, and again whenever they match otherwise. Returns what removes them. */
async function installAndFollow(
  configurations: Configurations,
  policies: PolicySource | undefined,
  log: Logger,
): Promise<() => Promise<void>> {
  await untilSynced(policies);
  const apply = () => configurations.apply(policies?.current().set.scope ?? []);
  await apply();
  const sync = startSync({ apply, subscribe: (changed) => policies?.subscribe?.(changed) ?? (() => {}), log });
  // What has changed while the first was under way.
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
        message: `Policies could not be read in ${syncLimitMilliseconds / 1000} s`,
        hint: 'See that the CRDs of platform.company.com are installed and that we may list their objects',
      });
    }
    await sleep(20);
  }
}

interface Parts {
  readonly serving: { readonly url: string; readonly port: number };
  readonly authority: Authority;
  readonly configurations: Configurations | undefined;
  readonly isReady: () => boolean;
  readonly undo: readonly (() => Promise<void>)[];
}

function admissionOf({ serving, authority, configurations, isReady, undo }: Parts): Admission {
  const { url, port } = serving;
  let stopped: Promise<void> | undefined;
  return {
    url,
    port,
    configurations,
    certificates: authority,
    get caBundle() {
      return authority.bundle().pem;
    },
    get ready() {
      return isReady();
    },
    stop() {
      stopped ??= takeDown(undo);
      return stopped;
    },
  };
}

/** Whatever fails on the way, the rest is still taken down. */
async function takeDown(undo: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of undo) await step().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

function storeOf({ client, certificateSecret, certificateDirectory }: AdmissionOptions) {
  if (client !== undefined && certificateSecret !== undefined) return clusterStore({ client, ...certificateSecret });
  return certificateDirectory === undefined ? memoryStore() : directoryStore(certificateDirectory);
}

/** What the API server may call us by, and what a person on this machine would. */
function namesOf(host: string, target: WebhookTarget | undefined): string[] {
  const local = ['localhost', '127.0.0.1', '::1'];
  const listened = host === '0.0.0.0' || host === '::' ? [] : [host];
  if (target === undefined) return [...new Set([...listened, ...local])];
  if ('url' in target)
    return [...new Set([new URL(target.url).hostname.replace(/^\[|\]$/g, ''), ...listened, ...local])];
  const { namespace, name } = target.service;
  return [...new Set([`${name}.${namespace}.svc`, `${name}.${namespace}.svc.cluster.local`, ...listened, ...local])];
}
