/**
 * Checks admission webhooks: they respond, in time, and their certificates are valid (docs/requirements.md, 002
 * FR-OP-005).
 *
 * They are called through the API server of the cluster, like any request: only it can reach them, and it also verifies
 * their certificates.
 */
import { ApiError, type Client, type Clock } from '../../runtime/index.ts';
import { checkCertificates } from './certificates.ts';
import { dryRun } from './dry-run.ts';
import type { ClusterObjects } from './objects.ts';
import { type Finding, finding, healthy, worst } from './part.ts';
import { type Probe, probeFor } from './probe.ts';
import type { HealthProfile } from './profile.ts';
import { endpointSlices, webhookResources } from './resources.ts';
import type { EndpointSlice, Webhook, WebhookConfiguration } from './shapes.ts';
import type { Stopwatch } from './stopwatch.ts';
import type { WebhookThresholds } from './thresholds.ts';

interface WebhookInput {
  readonly objects: ClusterObjects;
  /** The client for dry runs. */
  readonly client: Pick<Client, 'create'>;
  readonly profile: HealthProfile;
  readonly thresholds: WebhookThresholds;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly signal?: AbortSignal;
}

export async function checkWebhooks(input: WebhookInput): Promise<Finding> {
  const { profile, thresholds, objects } = input;
  if (!thresholds.enabled) return finding('NotChecked', 'disabled by the Operator');
  if (profile.webhooks.length === 0) return finding('NotChecked', 'the operator has no webhooks');
  const findings: Finding[] = [];
  /** One dry run calls every webhook that matches the object. */
  const asked = new Map<string, Finding>();
  for (const { kind, name } of profile.webhooks) {
    const live = await objects.get<WebhookConfiguration>(webhookResources[kind], { name });
    if (live === undefined) {
      findings.push(finding('Unhealthy', `${kind} ${name} does not exist`));
      continue;
    }
    for (const webhook of live.webhooks ?? []) findings.push(await checkOne(input, webhook, asked));
  }
  return worst(findings);
}

async function checkOne(input: WebhookInput, webhook: Webhook, asked: Map<string, Finding>): Promise<Finding> {
  const certificates = checkCertificates(webhook, input.clock.now());
  if (certificates.state !== 'Healthy') return certificates;
  const served = await checkEndpoints(webhook, input.objects);
  if (served.state !== 'Healthy') return served;
  const probe = await probeFor(webhook, { ...input, onlyCopies: false });
  const answer = await askOnce(input, webhook, probe, asked);
  if (answer.state !== 'NotChecked' || typeof probe === 'string' || !probe.madeUp) return answer;
  return askOnce(input, webhook, await probeFor(webhook, { ...input, onlyCopies: true }), asked);
}

async function askOnce(
  input: WebhookInput,
  webhook: Webhook,
  probe: Probe | string,
  asked: Map<string, Finding>,
): Promise<Finding> {
  if (typeof probe === 'string') return finding('NotChecked', `webhook ${webhook.name ?? ''} was not called: ${probe}`);
  const { namespace, labels } = probe.object.metadata;
  const key = JSON.stringify([probe.resource, probe.madeUp, namespace, labels]);
  const known = asked.get(key);
  if (known !== undefined) return known;
  const answer = await ask(probe, webhook, input);
  asked.set(key, answer);
  return answer;
}

/**
 * With `failurePolicy: Ignore` a dry run succeeds without the webhook, and a Service without endpoints is a quick
 * check.
 */
async function checkEndpoints({ name = '', clientConfig }: Webhook, objects: ClusterObjects): Promise<Finding> {
  const { service } = clientConfig ?? {};
  if (service?.name === undefined || service.namespace === undefined) return healthy;
  const slices = await objects.list<EndpointSlice>(endpointSlices, service.namespace);
  const own = slices.filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service.name);
  const ready = own.some(({ endpoints }) => endpoints?.some(({ conditions }) => conditions?.ready !== false));
  if (ready) return healthy;
  return finding('Unhealthy', `webhook ${name}: Service ${service.namespace}/${service.name} has no ready endpoints`);
}

async function ask(probe: Probe, webhook: Webhook, input: WebhookInput): Promise<Finding> {
  const { maxLatencyMilliseconds: most } = input.thresholds;
  const { name = '' } = webhook;
  // Long enough to distinguish a slow webhook from a hanging one.
  const { failure, isLate, milliseconds } = await dryRun(probe, input, most + Math.max(most, 2_000));
  if (isLate) {
    return milliseconds < most
      ? finding('Unknown', `webhook ${name}: the platform was too busy to measure the response time`)
      : finding('Unhealthy', `webhook ${name}: a dry run timed out`);
  }
  const said = verdictOf(failure, name);
  if (said.state !== 'Healthy' || milliseconds < most) return said;
  return finding('Unhealthy', `webhook ${name}: a dry run took ${most} ms or longer`);
}

/** A denial is a response. Without one, the API server uses these messages (apiserver/pkg/admission/plugin/webhook). */
function verdictOf(failure: unknown, name: string): Finding {
  if (failure === undefined) return healthy;
  if (!(failure instanceof ApiError)) throw failure;
  const { message, status } = failure;
  const called = /failed calling webhook "([^"]+)"/.exec(message);
  if (called !== null) return finding('Unhealthy', `webhook ${called[1] ?? name} ${whyNot(message)}`);
  if (/admission webhook "[^"]+" denied the request/.test(message)) return healthy;
  if (/does not support dry run/.test(message)) {
    return finding('NotChecked', `webhook ${name} was not called: another webhook does not support dry runs`);
  }
  if (status === 403) {
    return finding(
      'NotChecked',
      `webhook ${name} was not called: the platform has no permission to create such an object`,
    );
  }
  if (status === 404) return finding('Unhealthy', `webhook ${name}: the kind that it matches is not served`);
  if (status === 429 || status >= 500) return finding('Unknown', `webhook ${name}: the API server answered ${status}`);
  return finding(
    'NotChecked',
    `webhook ${name} was not called: the API server rejects the generated objects; set spec.health.webhook.probe`,
  );
}

/** Our own texts: those of the API server quote addresses and responses. */
function whyNot(message: string): string {
  if (/certificate has expired|not yet valid/i.test(message)) return 'serves an expired or not yet valid certificate';
  if (/x509|tls:/i.test(message)) return 'serves a certificate that the API server does not trust';
  if (/connection refused|no such host|no endpoints available|EOF|reset by peer/i.test(message)) {
    return 'is unreachable for the API server';
  }
  // Not just "timeout": the URL ends in ?timeout=10s.
  if (/deadline exceeded|i\/o timeout|Client\.Timeout/i.test(message)) return 'timed out';
  return 'returns an invalid response';
}
