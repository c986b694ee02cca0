/** Runs every check against a broker. */
import type { JWK } from 'jose';
import { ConfigError } from '../../runtime/index.ts';
import { memoryKeyStore, openKeyRing, PLATFORM_ISSUER } from '../identity/index.ts';
import type { DeployableKind } from '../messages.ts';
import { checksFor } from './checks.ts';
import { signingIdentity } from './identity.ts';
import { type ConformanceKafka, type KafkaChecks, openKafkaChecks } from './kafka.ts';
import { startReceiver } from './receiver.ts';
import { exchange, type Health, NotConforming, openSubject } from './subject.ts';

export interface ConformanceOptions {
  /** The URL of the broker: `https://broker.example.com`. */
  readonly url: string;
  readonly issuer?: string;
  /**
   * The platform's private key (Ed25519). Without it, one is generated and served at `/.well-known/jwks.json` of the
   * receiver.
   */
  readonly key?: JWK | undefined;
  /** The address that the receiver of reports listens on. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /** The URL of the receiver as the broker reaches it, if it differs. */
  readonly replyUrl?: string | undefined;
  /** The kind to deploy. Default: a small object of a kind that the broker supports. */
  readonly kind?: DeployableKind | undefined;
  readonly spec?: Readonly<Record<string, unknown>> | undefined;
  readonly namespace?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly brokerIssuer?: string | undefined;
  /** The time limit of a deployment. */
  readonly timeoutMilliseconds?: number;
  readonly insecureHttp?: boolean;
  /** The Kafka cluster of the broker; without it only HTTP is verified. */
  readonly kafka?: ConformanceKafka | undefined;
  /** Called with each result. */
  readonly onResult?: (result: CheckResult) => void;
}

export interface CheckResult {
  readonly id: string;
  readonly title: string;
  readonly result: 'pass' | 'fail';
  /** What was observed, and what is required. */
  readonly message?: string;
  readonly milliseconds: number;
}

/** A small object of each kind. */
const samples: Readonly<Record<DeployableKind, Readonly<Record<string, unknown>>>> = {
  Secret: { type: 'Opaque', keys: [{ name: 'value', generate: { length: 16 } }] },
  Topic: { type: 'topic', partitions: 1 },
  Cache: { engine: 'redis', size: 'small', eviction: 'allkeys-lru' },
  Database: { engine: 'postgresql', size: 'small' },
  Service: { image: 'nginx', replicas: 1 },
};
const easiestFirst: readonly DeployableKind[] = ['Secret', 'Topic', 'Cache', 'Database', 'Service'];

/** Rejects with a `ConfigError` if no broker answers at the URL. */
export async function verifyBroker(options: ConformanceOptions): Promise<CheckResult[]> {
  const url = options.url.replace(/\/+$/, '');
  const health = await healthOf(url);
  const kind = options.kind ?? kindOf(health);
  const identity = await signingIdentity(options.issuer ?? PLATFORM_ISSUER, options.key);
  const keys = await openKeyRing(memoryKeyStore(), { issuer: identity.issuer, subject: identity.issuer });
  const receiver = await startReceiver({
    identity,
    broker: health.broker,
    jwksUri: `${url}/.well-known/jwks.json`,
    host: options.listen?.host ?? '127.0.0.1',
    port: options.listen?.port ?? 0,
    brokerIssuer: options.brokerIssuer,
    insecureHttp: options.insecureHttp,
  });
  let trial: KafkaChecks | undefined;
  try {
    trial =
      options.kafka === undefined
        ? undefined
        : await openKafkaChecks(options.kafka, identity, receiver.verifier, receiver.receive, receiver.refuse);
    const subject = openSubject({
      url,
      health,
      identity,
      receiver,
      keys,
      statusUrl: `${(options.replyUrl ?? receiver.url).replace(/\/+$/, '')}/v1/status`,
      kind,
      spec: options.spec ?? samples[kind],
      namespace: options.namespace ?? 'kidp-conformance',
      parameters: options.parameters ?? {},
      timeoutMilliseconds: options.timeoutMilliseconds ?? 120_000,
    });
    const results: CheckResult[] = [];
    const checks = [...(await checksFor(identity, health.broker)), ...(trial?.checks ?? [])];
    for (const check of checks) {
      const began = performance.now();
      const failure = await check.run(subject).then(
        () => undefined,
        (error: unknown) =>
          error instanceof NotConforming ? error.message : `the request failed: ${(error as Error).message}`,
      );
      const result: CheckResult = {
        id: check.id,
        title: check.title,
        result: failure === undefined ? 'pass' : 'fail',
        ...(failure === undefined ? {} : { message: failure }),
        milliseconds: Math.round(performance.now() - began),
      };
      results.push(result);
      options.onResult?.(result);
    }
    return results;
  } finally {
    await trial?.stop();
    await receiver.stop();
    keys.close();
  }
}

async function healthOf(url: string): Promise<Health> {
  const path = `${url}/v1/health`;
  const answer = await exchange(path, 'GET', {}).catch((error: Error) => {
    throw noBroker(`${path} cannot be reached: ${error.message}`);
  });
  const { broker } = (answer.body ?? {}) as Partial<Health>;
  if (answer.status !== 200 || typeof broker !== 'string') {
    throw noBroker(
      `${path} does not return the name of a broker: it answered ${answer.status} ${answer.text.slice(0, 100)}`,
    );
  }
  return answer.body as Health;
}

const noBroker = (message: string) =>
  new ConfigError({
    code: 'no-broker',
    message,
    hint: 'Pass the base URL below which the broker serves /v1/deployments',
  });

function kindOf({ capabilities }: Health): DeployableKind {
  const kinds = new Set((Array.isArray(capabilities) ? capabilities : []).map((each) => each.split('/')[0]));
  const found = easiestFirst.find((kind) => kinds.has(kind));
  if (found !== undefined) return found;
  throw noBroker('the broker has no capabilities');
}
