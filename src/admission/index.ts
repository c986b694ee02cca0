/**
 * The webhook: every apply to a kind of the platform passes its gates, and is let in or denied with the reason.
 *
 * In: AdmissionReviews over HTTPS, a cluster to install the webhook configuration in (or none), certificates (or it makes its own).
 * Out: a decision for each request, the webhook configurations, and `decide`, the same decision for whoever has a request in hand.
 * It must not know: how objects are reconciled, what brokers do, or how a policy is compiled.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  type Authority,
  type CertificateLives,
  type Client,
  clusterStore,
  directoryStore,
  type Logger,
  memoryStore,
  serveHttps,
  silentLogger,
  startAuthority,
} from '../runtime/index.ts';
import { type FailurePolicy, installConfigurations, type WebhookTarget } from './configuration.ts';
import { publishToConfigurations } from './publish.ts';
import { answerAdmission } from './server.ts';

export type { FailurePolicy, WebhookTarget } from './configuration.ts';
export { type Decision, decide, type Findings, type Gate, gates, type Violation } from './gates.ts';
export {
  type AdmissionRequest,
  decodeReview,
  denialMessage,
  encodeReview,
  type Operation,
  type UserInfo,
} from './review.ts';

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
  /** False for a replica that only serves, and leaves the webhook configurations to another. */
  install?: boolean | undefined;
  log?: Logger | undefined;
}

export interface Admission {
  readonly url: string;
  readonly port: number;
  /** What clients need to trust, PEM. It changes when certificates rotate. */
  readonly caBundle: string;
  /** Removes the webhook configurations, finishes what is in flight, and ends. */
  stop(): Promise<void>;
}

/** How long an API server may take to notice that the configuration is gone; until then it still calls. */
const farewellMilliseconds = 1000;

export async function startAdmission(options: AdmissionOptions = {}): Promise<Admission> {
  const { client, host = '127.0.0.1', failurePolicy = 'Fail', install = true } = options;
  const log = options.log ?? silentLogger;
  const installer = { id: randomUUID(), sharesCertificates: options.certificateSecret !== undefined };
  const authority = await startAuthority({
    store: storeOf(options),
    identity: options.identity ?? `${hostname()}-${process.pid}`,
    names: namesOf(host, options.target),
    log,
    ...options.certificateLives,
    ...(client === undefined ? {} : { publish: publishToConfigurations(client, installer) }),
  });
  let ready = false;
  const undo: (() => Promise<void>)[] = [() => authority.stop()];
  try {
    const serving = await serveHttps({
      certificates: authority,
      answer: answerAdmission({ log, ready: () => ready && !serving.draining }),
      host,
      port: options.port ?? 0,
      reusePort: options.reusePort ?? false,
    });
    const installs = client !== undefined && install;
    undo.unshift(() => serving.stop({ drainMilliseconds: installs ? farewellMilliseconds : 0 }));
    if (installs) {
      const target = options.target ?? { url: serving.url };
      const bundle = authority.bundle();
      const installed = await installConfigurations(client, { target, failurePolicy, bundle, installer });
      undo.unshift(() => installed.uninstall());
    }
    ready = true;
    return admissionOf(serving, authority, undo);
  } catch (error) {
    await takeDown(undo).catch(() => {});
    throw error;
  }
}

function admissionOf(
  { url, port }: { url: string; port: number },
  authority: Authority,
  undo: readonly (() => Promise<void>)[],
): Admission {
  let stopped: Promise<void> | undefined;
  return {
    url,
    port,
    get caBundle() {
      return authority.bundle().pem;
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
