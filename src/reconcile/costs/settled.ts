/**
 * Settled costs: the costs of deleted resources.
 *
 * The status of a resource is deleted with it, so its costs are first stored in ConfigMaps of the platform's namespace:
 * one per team and month, and another when one is full. The owner data of a deleted resource is also kept for a while,
 * so that late reports of any month can be assigned.
 *
 * An entry has the uid of its resource as key and is merged with an existing entry, so settling is idempotent.
 */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { GROUP, TEAM_LABEL } from '../../api/index.ts';
import type { Client } from '../../runtime/index.ts';
import type { MonthlyCost } from '../platform/ownership.ts';
import { joined, type Usage, withUsage } from './account.ts';
import { isAmount } from './amount.ts';
import { type Bucket, type CostConfigMap, openEntryStore } from './entry-store.ts';

/** A deleted resource, and who pays for it. */
export interface Payer {
  readonly uid: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The namespace of the team that pays. */
  readonly team: string;
  /** The Applications of its owner chain, nearest first, as `namespace/name`. */
  readonly applications: readonly string[];
  readonly costTags?: Readonly<Record<string, string>>;
  /** The last broker. */
  readonly broker?: string;
}

/** The costs of one deleted resource in one month. */
export interface SettledCost extends Payer, MonthlyCost {}

/** A deleted resource as kept for late reports. */
export interface DeletedResource extends Payer {
  /** Former brokers. */
  readonly formerBrokers?: readonly string[];
  /** When its costs were settled. */
  readonly at: string;
}

const SETTLED_COSTS_LABEL = `${GROUP}/settled-costs`;
export const settledSelector = `${SETTLED_COSTS_LABEL}=true`;
export const MONTH_LABEL = `${GROUP}/month`;
/** Labels the ConfigMaps of deleted resources; the value is a part of the digest of the uid. */
export const DELETED_RESOURCE_LABEL = `${GROUP}/gone`;
/** A final invoice may arrive weeks after the month. */
const rememberedMilliseconds = 90 * 86_400_000;

/** `readSettled` reads the entries of a ConfigMap. Damaged entries are skipped and passed to `damaged`. */
export function readSettled({ data = {} }: CostConfigMap, damaged: (key: string) => void = () => {}): SettledCost[] {
  return Object.entries(data).flatMap(([key, text]) => {
    const entries = parse(text);
    if (entries === undefined) damaged(key);
    return entries ?? [];
  });
}

export interface SettledCosts {
  /** Resolves once all entries are stored. All entries belong to one resource. */
  keep(entries: readonly SettledCost[]): Promise<void>;
  /** Stores the owner data of a deleted resource for late reports. */
  remember(gone: DeletedResource): Promise<void>;
  /** Finds a deleted resource that could have costs in that month; undefined if it is unknown. */
  find(resource: Pick<Payer, 'uid' | 'namespace'>, month: string): Promise<Payer | DeletedResource | undefined>;
  /** Adds a late report for a deleted resource. */
  add(payer: Payer, usage: Usage): Promise<'applied' | 'duplicate' | 'stale'>;
}

export function settledCosts(client: Client, namespace: string, now: () => number = Date.now): SettledCosts {
  const store = openEntryStore(client, namespace);
  return {
    async keep(entries) {
      const months = Map.groupBy(entries, ({ team, month }) => JSON.stringify([team, month]));
      await Promise.all(
        [...months.values()].map(([first, ...others]) => {
          if (first === undefined) return undefined;
          const { uid, team, month, broker = '' } = first;
          return store.change(costBucket(team, month), uid, (text) => {
            const known = parse(text ?? '');
            const account = accountOf([first, ...others]);
            return entriesOf(first, known === undefined ? account : joined(accountOf(known), account, broker));
          });
        }),
      );
    },
    remember: (gone) =>
      store.change(deletedBucket(gone.uid, now()), gone.uid, (text) => {
        const known = parseDeleted(text ?? '');
        const isKnown = known !== undefined && isDeepStrictEqual({ ...known, at: gone.at }, gone);
        return isKnown ? undefined : JSON.stringify(gone);
      }),
    async find({ uid, namespace: team }, month) {
      const gone = parseDeleted((await store.find(deletedBucket(uid, now()).labels, uid)) ?? '');
      if (gone !== undefined) return gone;
      // Settled by an old version, or too long ago.
      return parse((await store.find(costBucket(team, month).labels, uid)) ?? '')?.[0];
    },
    async add(payer, usage) {
      const { uid, team, broker } = payer;
      let outcome: 'applied' | 'duplicate' | 'stale' = 'stale';
      await store.change(costBucket(team, usage.month), uid, (text) => {
        const known = parse(text ?? '');
        const next = withUsage(accountOf(known ?? []), usage, broker);
        outcome = typeof next === 'string' ? next : 'applied';
        return typeof next === 'string' ? undefined : entriesOf(known?.[0] ?? payer, next);
      });
      return outcome;
    },
  };
}

const costBucket = (team: string, month: string): Bucket => ({
  name: `settled-costs-${month}-${digestOf(team).slice(0, 10)}`,
  labels: { [SETTLED_COSTS_LABEL]: 'true', [TEAM_LABEL]: team, [MONTH_LABEL]: month },
});

/**
 * Sixteen buckets: small enough to be written often, and few enough that resources deleted together are written
 * together.
 */
function deletedBucket(uid: string, now: number): Bucket {
  const part = digestOf(uid).slice(0, 1);
  return {
    name: `gone-${part}`,
    labels: { [DELETED_RESOURCE_LABEL]: part },
    isExpired: (text) => !(Date.parse(parseDeleted(text)?.at ?? '') > now - rememberedMilliseconds),
  };
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Converts an entry to the form of `status.costs`. */
export const asMonthlyCost = ({ month, currency, amount }: SettledCost): MonthlyCost => ({ month, currency, amount });

const accountOf = (entries: readonly SettledCost[]): MonthlyCost[] =>
  entries.map(({ month, currency, amount, asOf, reports }) => ({
    month,
    currency,
    amount,
    ...(asOf === undefined ? {} : { asOf }),
    ...(reports === undefined ? {} : { reports }),
  }));

function entriesOf(
  { uid, kind, namespace, name, team, applications, costTags, broker }: Payer,
  costs: readonly MonthlyCost[],
): string {
  const payer: Payer = {
    uid,
    kind,
    namespace,
    name,
    team,
    applications,
    ...(costTags === undefined ? {} : { costTags }),
    ...(broker === undefined ? {} : { broker }),
  };
  return JSON.stringify(costs.map((cost): SettledCost => ({ ...payer, ...cost })));
}

function parse(text: string): SettledCost[] | undefined {
  const value = jsonOf(text);
  return Array.isArray(value) && value.every(isSettledCost) ? value : undefined;
}

function parseDeleted(text: string): DeletedResource | undefined {
  const value = jsonOf(text);
  return isPayer(value) && typeof (value as { at?: unknown }).at === 'string' ? (value as DeletedResource) : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isSettledCost(value: unknown): value is SettledCost {
  if (!isPayer(value)) return false;
  const { month, currency, amount, reports = [] } = value as Partial<SettledCost>;
  return (
    typeof month === 'string' &&
    typeof currency === 'string' &&
    isText(amount) &&
    Array.isArray(reports) &&
    reports.every((each) => typeof each?.broker === 'string' && isText(each.amount))
  );
}

const isText = (amount: unknown): boolean => typeof amount === 'string' && isAmount(amount);

function isPayer(value: unknown): value is Payer {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return (
    ['uid', 'kind', 'namespace', 'name', 'team'].every((word) => typeof fields[word] === 'string') &&
    Array.isArray(fields.applications) &&
    fields.applications.every((each) => typeof each === 'string')
  );
}
