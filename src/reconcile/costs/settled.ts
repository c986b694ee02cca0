/**
 * What resources had cost that are gone now. Their own status goes with them, so it is kept in ConfigMaps of the platform's namespace
 * before their finalizer goes: one for each team and month, and one more when that is full.
 *
 * An entry has the uid of its resource as key, so that settling twice is settling once.
 */
import { createHash } from 'node:crypto';
import { GROUP, MANAGED_BY, MANAGED_BY_LABEL, TEAM_LABEL } from '../../api/index.ts';
import {
  type Client,
  isAlreadyExists,
  isConflict,
  type KubernetesObject,
  type ObjectMeta,
} from '../../runtime/index.ts';
import type { MonthlyCost } from '../platform/ownership.ts';
import { configMaps } from '../platform/resources.ts';
import { isAmount } from './amount.ts';

/** One resource that is gone, in one month. */
export interface SettledCost {
  readonly uid: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** The namespace of the team that pays. */
  readonly team: string;
  /** The Applications that it belonged to, nearest first, as `namespace/name`. */
  readonly applications: readonly string[];
  readonly costTags?: Readonly<Record<string, string>>;
  readonly month: string;
  readonly currency: string;
  readonly amount: string;
  readonly asOf?: string;
  readonly broker?: string;
}

export interface CostConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export const SETTLED_COSTS_LABEL = `${GROUP}/settled-costs`;
export const settledSelector = `${SETTLED_COSTS_LABEL}=true`;
/** So that one fits into what etcd takes (1.5 MiB) and the API server allows a ConfigMap (1 MiB), with room for keys. */
const mostBytes = 700_000;
const mostTries = 10;

/** What a ConfigMap holds. An entry that somebody has damaged is left out, and told. */
export function readSettled({ data = {} }: CostConfigMap, damaged: (key: string) => void = () => {}): SettledCost[] {
  return Object.entries(data).flatMap(([key, text]) => {
    const entries = parse(text);
    if (entries === undefined) damaged(key);
    return entries ?? [];
  });
}

export interface SettledCosts {
  /** Resolves once all of it is kept. All entries are of one resource. */
  keep(entries: readonly SettledCost[]): Promise<void>;
  /** What is kept of a resource and month; undefined where nothing is. */
  find(uid: string, month: string): Promise<readonly SettledCost[] | undefined>;
}

/**
 * Many resources may go at once, and each is waited for: what comes while a ConfigMap is being written goes together with the next
 * write of it.
 */
export function settledCosts(client: Client, namespace: string): SettledCosts {
  const waiting = new Map<string, { entries: Map<string, SettledCost[]>; written: Promise<void> }>();
  const lanes = new Map<string, Promise<void>>();

  const list = async (labels: Readonly<Record<string, string>>): Promise<CostConfigMap[]> => {
    const labelSelector = Object.entries({ [SETTLED_COSTS_LABEL]: 'true', ...labels })
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
    const { items } = await client.list<CostConfigMap>(configMaps, { namespace, labelSelector });
    return items.sort((one, other) => partOf(one) - partOf(other));
  };

  const write = async (team: string, month: string, entries: ReadonlyMap<string, SettledCost[]>) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await place(await list({ [TEAM_LABEL]: team, [MONTH_LABEL]: month }), team, month, entries);
      } catch (error) {
        if (tries >= mostTries || !(isConflict(error) || isAlreadyExists(error))) throw error;
      }
    }
  };

  /** Each entry where one of its resource is, else in the last that has room, else in a new one. */
  const place = async (
    known: readonly CostConfigMap[],
    team: string,
    month: string,
    entries: ReadonlyMap<string, SettledCost[]>,
  ) => {
    const sizes = known.map(sizeOf);
    const parts: Record<string, string>[] = known.map(() => ({}));
    for (const [uid, costs] of entries) {
      const text = JSON.stringify(costs);
      const there = known.findIndex(({ data }) => data !== undefined && Object.hasOwn(data, uid));
      const last = parts.length - 1;
      const roomy = last >= 0 && (sizes[last] ?? 0) + Buffer.byteLength(text) < mostBytes ? last : -1;
      const at = there >= 0 ? there : roomy >= 0 ? roomy : parts.push({}) - 1;
      const part = parts[at];
      if (part === undefined) continue;
      part[uid] = text;
      sizes[at] = (sizes[at] ?? 0) + Buffer.byteLength(text) + uid.length;
    }
    for (const [index, data] of parts.entries()) {
      const there = known[index];
      if (Object.keys(data).length === 0) continue;
      if (there === undefined) await client.create(configMaps, configMap(namespace, team, month, index, data));
      else await merge(there, data);
    }
  };

  const merge = ({ metadata }: CostConfigMap, data: Readonly<Record<string, string>>) =>
    client.patch(
      configMaps,
      { namespace, name: metadata.name },
      // With the resourceVersion: two replicas that take late reports must not overtake each other.
      { type: 'merge', body: { metadata: { resourceVersion: metadata.resourceVersion }, data } },
    );

  const enqueue = (team: string, month: string, uid: string, costs: SettledCost[]): Promise<void> => {
    const lane = `${team} ${month}`;
    const batch = waiting.get(lane);
    if (batch !== undefined) {
      batch.entries.set(uid, costs);
      return batch.written;
    }
    const entries = new Map([[uid, costs]]);
    const before = lanes.get(lane) ?? Promise.resolve();
    const written = before
      .catch(() => {})
      .then(() => {
        waiting.delete(lane);
        return write(team, month, entries);
      })
      .finally(() => {
        if (lanes.get(lane) === written) lanes.delete(lane);
      });
    lanes.set(lane, written);
    waiting.set(lane, { entries, written });
    return written;
  };

  return {
    async keep(entries) {
      const groups = Map.groupBy(entries, ({ team, month, uid }) => JSON.stringify([team, month, uid]));
      await Promise.all(
        [...groups.values()].map((costs) => {
          const [first] = costs;
          return first === undefined ? undefined : enqueue(first.team, first.month, first.uid, costs);
        }),
      );
    },
    async find(uid, month) {
      for (const { data } of await list({ [MONTH_LABEL]: month })) {
        const text = data !== undefined && Object.hasOwn(data, uid) ? data[uid] : undefined;
        if (text !== undefined) return parse(text);
      }
      return undefined;
    },
  };
}

export const MONTH_LABEL = `${GROUP}/month`;

function configMap(
  namespace: string,
  team: string,
  month: string,
  part: number,
  data: Record<string, string>,
): CostConfigMap {
  const digest = createHash('sha256').update(team).digest('hex').slice(0, 10);
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: `settled-costs-${month}-${digest}-${part}`,
      namespace,
      labels: {
        [MANAGED_BY_LABEL]: MANAGED_BY,
        [SETTLED_COSTS_LABEL]: 'true',
        [TEAM_LABEL]: team,
        [MONTH_LABEL]: month,
      },
    } satisfies ObjectMeta,
    data,
  };
}

const partOf = ({ metadata }: CostConfigMap): number => Number(metadata.name.split('-').at(-1));
const sizeOf = ({ data = {} }: CostConfigMap): number =>
  Object.entries(data).reduce((size, [key, text]) => size + key.length + Buffer.byteLength(text), 0);

function parse(text: string): SettledCost[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every(isSettledCost) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isSettledCost(value: unknown): value is SettledCost {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const words = ['uid', 'kind', 'namespace', 'name', 'team', 'month', 'currency', 'amount'];
  return (
    words.every((word) => typeof fields[word] === 'string') &&
    isAmount(fields.amount as string) &&
    Array.isArray(fields.applications) &&
    fields.applications.every((each) => typeof each === 'string')
  );
}

/** As `status.costs` has it. */
export const asMonthlyCost = ({ month, currency, amount }: SettledCost): MonthlyCost => ({ month, currency, amount });
