/**
 * Usage as brokers report it: what a resource has cost in a month so far. A later report replaces an earlier one, so that reports may
 * come twice, late or out of order. What is reported of a resource that is gone goes where its costs were settled.
 */
import { type DeploymentTarget, deployableKinds, deploymentTarget, TEAM_LABEL } from '../../api/index.ts';
import type { ReportOutcome, UsageEvent, UsageReport, VerifiedBroker } from '../../broker/index.ts';
import { type Client, isConflict, isNotFound, type Resource } from '../../runtime/index.ts';
import type { Lookup } from '../platform/lookup.ts';
import {
  costTagsOf,
  type MonthlyCost,
  type OwnedObject,
  type OwnershipView,
  ownerPath,
} from '../platform/ownership.ts';
import { isAmount } from './amount.ts';
import type { SettledCost, SettledCosts } from './settled.ts';
import { keptCosts, newestFirst } from './totals.ts';

export interface UsageParts {
  readonly client: Client;
  readonly lookup: Lookup;
  readonly settled: SettledCosts;
}

const fieldManager = 'kidp-costs';
const mostTries = 10;

export async function takeUsage(
  event: UsageEvent,
  from: VerifiedBroker,
  parts: UsageParts,
  signal?: AbortSignal,
): Promise<ReportOutcome> {
  const { data } = event;
  if (data.broker !== from.name) return wrongBroker(`${from.name} reports for Broker ${data.broker}`);
  const invalid = problemOf(data);
  if (invalid !== undefined) return { result: 'refused', code: 'invalid', message: invalid };
  const kind = deployableKinds.find((each) => each.kind === data.resource.kind);
  if (kind === undefined) return unknownObject(data);
  const { namespace, name } = data.resource;
  const live = () => parts.lookup.live<OwnedObject>(kind.resource, { namespace, name }, signal);
  let object = await parts.lookup.get<OwnedObject>(kind.resource, { namespace, name }, signal);
  for (let tries = 1; ; tries += 1) {
    if (object?.metadata.uid !== data.resource.uid) object = await live();
    if (object?.metadata.uid !== data.resource.uid) return takeLate(data, parts);
    const broker = await brokerOf(object, parts.lookup);
    if (broker !== from.name) return wrongBroker(`${name} is deployed by ${broker ?? 'no broker'}, not ${from.name}`);
    const next = withUsage(object.status?.costs ?? [], data);
    if (typeof next === 'string') return { result: next };
    try {
      await write(parts.client, kind.resource, object, next, signal);
      return { result: 'applied' };
    } catch (error) {
      if (isNotFound(error)) return takeLate(data, parts);
      if (!isConflict(error) || tries >= mostTries) throw error;
      object = await live();
    }
  }
}

/** What `status.costs` becomes, or why it stays. */
export function withUsage(
  costs: readonly MonthlyCost[],
  { month, currency, amount, asOf }: Pick<UsageReport, 'month' | 'currency' | 'amount' | 'asOf'>,
): MonthlyCost[] | 'duplicate' | 'stale' {
  const known = costs.find((cost) => cost.month === month && cost.currency === currency);
  const age = known === undefined ? 'newer' : ageOf(known, { amount, asOf });
  if (age !== 'newer') return age;
  const others = costs.filter((cost) => cost !== known);
  return newestFirst([...others, { month, currency, amount, asOf: secondsOf(asOf) }]).slice(0, keptCosts);
}

/** What is kept of an object before it goes. */
export function settlementOf(object: OwnedObject, view: Pick<OwnershipView, 'team' | 'application'>): SettledCost[] {
  const { kind, metadata, status } = object;
  const { namespace = '', name, uid = '', labels } = metadata;
  const { team, applications } = ownerPath(object, view);
  const broker = status?.targetRef?.broker;
  const costTags = costTagsOf(object, view);
  return (status?.costs ?? []).map((cost) => ({
    uid,
    kind,
    namespace,
    name,
    team: team?.spec.namespace ?? labels?.[TEAM_LABEL] ?? namespace,
    applications,
    costTags,
    ...cost,
    ...(broker === undefined ? {} : { broker }),
  }));
}

async function takeLate(data: UsageReport, { settled }: UsageParts): Promise<ReportOutcome> {
  const { month, currency, amount } = data;
  const entries = await settled.find(data.resource.uid, month);
  const [any] = entries ?? [];
  if (entries === undefined || any === undefined) return unknownObject(data);
  if (any.broker !== data.broker) return wrongBroker(`${any.name} was deployed by ${any.broker ?? 'no broker'}`);
  const known = entries.find((entry) => entry.currency === currency);
  const age = known === undefined ? 'newer' : ageOf(known, data);
  if (age !== 'newer') return { result: age };
  const others = entries.filter((entry) => entry !== known);
  await settled.keep([...others, { ...any, currency, amount, asOf: secondsOf(data.asOf) }]);
  return { result: 'applied' };
}

function ageOf(known: Pick<MonthlyCost, 'amount' | 'asOf'>, report: Pick<UsageReport, 'amount' | 'asOf'>) {
  const [before, after] = [Date.parse(known.asOf ?? '1970-01-01T00:00:00Z'), Date.parse(secondsOf(report.asOf))];
  if (after > before) return 'newer';
  return after === before && known.amount === report.amount ? 'duplicate' : 'stale';
}

/** Whole seconds, as the API server keeps an instant. */
const secondsOf = (instant: string): string => `${new Date(instant).toISOString().slice(0, 19)}Z`;

function problemOf({ month, currency, amount, asOf }: UsageReport): string | undefined {
  if (!/^\d{4}-(0[1-9]|1[0-2])$/.test(month)) return 'month must be a month such as 2026-01';
  if (!/^[A-Z]{3}$/.test(currency)) return 'currency must be three capital letters as in ISO 4217';
  if (!isAmount(amount)) {
    return 'amount must be a decimal number with at most 15 digits before the point and 9 after it, as text';
  }
  return Number.isNaN(Date.parse(asOf)) ? 'asOf must be a time such as 2026-01-31T12:00:00Z' : undefined;
}

/** The one it was handed to; before that, the one of its target. */
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

const wrongBroker = (message: string): ReportOutcome => ({ result: 'refused', code: 'wrong-broker', message });

const unknownObject = ({ resource: { kind, namespace, name, uid } }: UsageReport): ReportOutcome => ({
  result: 'refused',
  code: 'unknown-object',
  message: `there is no ${kind} ${namespace}/${name} with the uid ${uid}`,
});
