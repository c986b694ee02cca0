/**
 * Records usage reports: the cost of a resource in a month so far.
 *
 * A later report of a broker replaces its earlier one, so reports may arrive twice, late or out of order. Reports for a
 * deleted resource go to its settled costs.
 */
import { CLEANUP_FINALIZER, type DeploymentTarget, deployableKinds, deploymentTarget } from '../../api/index.ts';
import type { ReportOutcome, UsageEvent, UsageReport, VerifiedBroker } from '../../broker/index.ts';
import { type Client, hasFinalizer, isConflict, isNotFound, type Resource } from '../../runtime/index.ts';
import type { Lookup } from '../platform/lookup.ts';
import { costTagsOf, type MonthlyCost, type OwnedObject, type OwnershipView, payersOf } from '../platform/ownership.ts';
import { withUsage } from './account.ts';
import { isAmount } from './amount.ts';
import type { DeletedResource, Payer, SettledCost, SettledCosts } from './settled.ts';

interface UsageParts {
  readonly client: Client;
  readonly lookup: Lookup;
  readonly settled: SettledCosts;
}

const fieldManager = 'kidp-costs';
const mostTries = 10;

export async function recordUsage(
  event: UsageEvent,
  from: VerifiedBroker,
  parts: UsageParts,
  signal?: AbortSignal,
): Promise<ReportOutcome> {
  const { data } = event;
  if (data.broker !== from.name) {
    return {
      result: 'refused',
      code: 'wrong-broker',
      message: `broker ${from.name} must not report for Broker ${data.broker}`,
    };
  }
  const invalid = problemOf(data);
  if (invalid !== undefined) return { result: 'refused', code: 'invalid', message: invalid };
  const kind = deployableKinds.find((each) => each.kind === data.resource.kind);
  if (kind === undefined) return unknownObject(data);
  const { namespace, name } = data.resource;
  const live = () => parts.lookup.live<OwnedObject>(kind.resource, { namespace, name }, signal);
  let object = await parts.lookup.get<OwnedObject>(kind.resource, { namespace, name }, signal);
  let isLive = false;
  for (let tries = 1; ; tries += 1) {
    const broker = object === undefined ? undefined : await brokerOf(object, parts.lookup);
    const formerBrokers = object?.status?.targetRef?.formerBrokers ?? [];
    // The cache can lag behind on an object or its broker.
    if (!isLive && (object?.metadata.uid !== data.resource.uid || !mayReport({ broker, formerBrokers }, data))) {
      object = await live();
      isLive = true;
      continue;
    }
    if (object?.metadata.uid !== data.resource.uid || isSettled(object)) return recordLateUsage(data, parts);
    if (!mayReport({ broker, formerBrokers }, data)) return wrongBroker(`${name} is deployed by`, broker, data);
    const next = withUsage(object.status?.costs ?? [], data, broker);
    if (typeof next === 'string') return { result: next };
    try {
      await write(parts.client, kind.resource, object, next, signal);
      return { result: 'applied' };
    } catch (error) {
      if (isNotFound(error)) return recordLateUsage(data, parts);
      if (!isConflict(error) || tries >= mostTries) throw error;
      object = await live();
      isLive = true;
    }
  }
}

type Owners = Pick<OwnershipView, 'team' | 'application' | 'teamOf'>;

/** `settle` stores the costs of an object and its owner data before it is deleted. */
export async function settle(
  object: OwnedObject,
  { settled, view, now }: { readonly settled: SettledCosts; readonly view: Owners; readonly now: number },
): Promise<void> {
  const gone = deletedResourceOf(object, view, now);
  await Promise.all([
    settled.keep(settlementOf(object, view)),
    // Without a broker there are no late reports.
    gone.broker === undefined ? undefined : settled.remember(gone),
  ]);
}

export const settlementOf = (object: OwnedObject, view: Owners): SettledCost[] =>
  (object.status?.costs ?? []).map((cost) => ({ ...payerOf(object, view), ...cost }));

export function deletedResourceOf(object: OwnedObject, view: Owners, now: number): DeletedResource {
  const { formerBrokers = [] } = object.status?.targetRef ?? {};
  return {
    ...payerOf(object, view),
    ...(formerBrokers.length === 0 ? {} : { formerBrokers }),
    at: new Date(now).toISOString(),
  };
}

function payerOf(object: OwnedObject, view: Owners): Payer {
  const { kind, metadata, status } = object;
  const { namespace = '', name, uid = '' } = metadata;
  const { team, applications } = payersOf(object, view);
  const broker = status?.targetRef?.broker;
  return {
    uid,
    kind,
    namespace,
    name,
    team: team?.spec.namespace ?? namespace,
    applications,
    costTags: costTagsOf(object, view),
    ...(broker === undefined ? {} : { broker }),
  };
}

async function recordLateUsage(data: UsageReport, { settled }: UsageParts): Promise<ReportOutcome> {
  const payer = await settled.find(data.resource, data.month);
  if (payer === undefined) return unknownObject(data);
  if (!mayReport(payer, data)) return wrongBroker(`${payer.name} was deployed by`, payer.broker, data);
  return { result: await settled.add(payer, data) };
}

/** Another finalizer can keep the object for a while; reports written to its status would be lost with it. */
const isSettled = (object: OwnedObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && !hasFinalizer(object, CLEANUP_FINALIZER);

/**
 * The current broker may report, and a former broker its final report only: it might not notice the takeover and keep
 * counting.
 */
const mayReport = (
  { broker, formerBrokers = [] }: { readonly broker?: string | undefined; readonly formerBrokers?: readonly string[] },
  { broker: from, final = false }: UsageReport,
): boolean => broker === from || (final && formerBrokers.includes(from));

function problemOf({ month, currency, amount, asOf }: UsageReport): string | undefined {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) return 'month must be a month such as 2026-01';
  if (!/^[A-Z]{3}$/.test(currency)) return 'currency must be three capital letters as in ISO 4217';
  if (!isAmount(amount)) {
    return 'amount must be a decimal number with at most 15 digits before the point and 9 after it, as text';
  }
  return Number.isNaN(Date.parse(asOf)) ? 'asOf must be a time such as 2026-01-31T12:00:00Z' : undefined;
}

/** The broker that it was dispatched to; before that, the broker of its target. */
async function brokerOf({ spec, status }: OwnedObject, lookup: Lookup): Promise<string | undefined> {
  if (status?.targetRef?.broker !== undefined) return status.targetRef.broker;
  if (spec.targetRef === undefined) return undefined;
  const target = await lookup.get<DeploymentTarget>(deploymentTarget.resource, { name: spec.targetRef.name });
  return target?.spec.brokerRef?.name;
}

async function write(
  client: Client,
  resource: Resource,
  { apiVersion, kind, metadata }: OwnedObject,
  costs: readonly MonthlyCost[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { name, namespace, resourceVersion } = metadata;
  const key = { name, ...(namespace === undefined ? {} : { namespace }) };
  const body = {
    apiVersion,
    kind,
    metadata: { ...key, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
    status: { costs },
  };
  await client.apply(resource, body, {
    subresource: 'status',
    fieldManager,
    force: true,
    ...(signal === undefined ? {} : { signal }),
  });
}

const wrongBroker = (what: string, broker: string | undefined, { broker: from }: UsageReport): ReportOutcome => ({
  result: 'refused',
  code: 'wrong-broker',
  message: `${what} ${broker ?? 'no broker'}, not by ${from}`,
});

const unknownObject = ({ resource: { kind, namespace, name, uid } }: UsageReport): ReportOutcome => ({
  result: 'refused',
  code: 'unknown-object',
  message: `${kind} ${namespace}/${name} with uid ${uid} does not exist`,
});
