/**
 * Stores text entries by resource uid in ConfigMaps of the platform's namespace.
 *
 * A bucket has as many ConfigMaps as its entries need. They are updated by compare-and-swap, so concurrent replicas
 * lose nothing.
 */
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../api/index.ts';
import {
  type Client,
  isAlreadyExists,
  isConflict,
  type KubernetesObject,
  type ObjectMeta,
} from '../../runtime/index.ts';
import { configMaps } from '../platform/resources.ts';

export interface CostConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

export interface Bucket {
  /** The name prefix of its ConfigMaps; a number follows. */
  readonly name: string;
  /** The labels of its ConfigMaps, which no others have. */
  readonly labels: Readonly<Record<string, string>>;
  /** Whether an entry may be dropped; checked when its ConfigMap is written anyway. */
  readonly isExpired?: (text: string) => boolean;
}

interface EntryStore {
  /**
   * Resolves once the change is stored. `change` maps the current text to the new one; undefined leaves it. It may be
   * called again, and the last result counts.
   */
  change(bucket: Bucket, uid: string, change: (text: string | undefined) => string | undefined): Promise<void>;
  find(labels: Bucket['labels'], uid: string): Promise<string | undefined>;
}

type Change = Parameters<EntryStore['change']>[2];

interface Batch {
  readonly changes: { readonly uid: string; readonly change: Change }[];
  readonly written: Promise<void>;
}

/** Fits the limits of etcd (1.5 MiB) and of a ConfigMap (1 MiB), including keys. */
const mostBytes = 700_000;
const mostTries = 10;

/**
 * `openEntryStore` batches writes: many resources can be deleted at once, so changes that arrive during a write go into
 * the next one.
 */
export function openEntryStore(client: Client, namespace: string): EntryStore {
  const waiting = new Map<string, Batch>();
  const lanes = new Map<string, Promise<void>>();

  const list = async (labels: Bucket['labels']): Promise<CostConfigMap[]> => {
    const labelSelector = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(',');
    const { items } = await client.list<CostConfigMap>(configMaps, { namespace, labelSelector });
    return items.sort((one, other) => partOf(one) - partOf(other));
  };

  const write = async (bucket: Bucket, changes: Batch['changes']): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      const known = await list(bucket.labels);
      const texts = new Map<string, string>();
      for (const { uid, change } of changes) {
        const before = texts.get(uid) ?? textIn(known, uid);
        const after = change(before);
        if (after !== undefined && after !== before) texts.set(uid, after);
      }
      try {
        return await place(bucket, known, texts);
      } catch (error) {
        if (tries >= mostTries || !(isConflict(error) || isAlreadyExists(error))) throw error;
      }
    }
  };

  /** Each entry stays in its ConfigMap, else goes into the first with room, else into a new one. */
  const place = async (bucket: Bucket, known: readonly CostConfigMap[], texts: ReadonlyMap<string, string>) => {
    if (texts.size === 0) return;
    const over = known.map((map) => expiredIn(map, bucket));
    const sizes = known.map((map, index) => sizeOf(map, over[index]));
    const parts: Record<string, string>[] = known.map(() => ({}));
    for (const [uid, text] of texts) {
      const size = uid.length + Buffer.byteLength(text);
      const there = known.findIndex(({ data }) => data !== undefined && Object.hasOwn(data, uid));
      const roomy = sizes.findIndex((taken) => taken + size < mostBytes);
      const at = there >= 0 ? there : roomy >= 0 ? roomy : parts.push({}) - 1;
      const part = parts[at];
      if (part === undefined) continue;
      part[uid] = text;
      sizes[at] = (sizes[at] ?? 0) + size;
    }
    for (const [index, data] of parts.entries()) {
      if (Object.keys(data).length === 0) continue;
      const there = known[index];
      if (there === undefined) await client.create(configMaps, configMap(bucket, index, data));
      else await merge(there, { ...Object.fromEntries([...(over[index] ?? [])].map((uid) => [uid, null])), ...data });
    }
  };

  const configMap = ({ name, labels }: Bucket, part: number, data: Record<string, string>): CostConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: `${name}-${part}`,
      namespace,
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, ...labels },
    } satisfies ObjectMeta,
    data,
  });

  const merge = ({ metadata }: CostConfigMap, data: Readonly<Record<string, string | null>>) =>
    client.patch(
      configMaps,
      { namespace, name: metadata.name },
      // The resourceVersion prevents lost updates between replicas that store late reports.
      { type: 'merge', body: { metadata: { resourceVersion: metadata.resourceVersion }, data } },
    );

  return {
    change(bucket, uid, change) {
      const lane = bucket.name;
      const batch = waiting.get(lane);
      if (batch !== undefined) {
        batch.changes.push({ uid, change });
        return batch.written;
      }
      const changes = [{ uid, change }];
      const before = lanes.get(lane) ?? Promise.resolve();
      const written = before
        .catch(() => {})
        .then(() => {
          waiting.delete(lane);
          return write(bucket, changes);
        })
        .finally(() => {
          if (lanes.get(lane) === written) lanes.delete(lane);
        });
      lanes.set(lane, written);
      waiting.set(lane, { changes, written });
      return written;
    },
    find: async (labels, uid) => textIn(await list(labels), uid),
  };
}

function textIn(maps: readonly CostConfigMap[], uid: string): string | undefined {
  for (const { data } of maps) if (data !== undefined && Object.hasOwn(data, uid)) return data[uid];
  return undefined;
}

const expiredIn = ({ data = {} }: CostConfigMap, { isExpired }: Bucket): ReadonlySet<string> =>
  new Set(isExpired === undefined ? [] : Object.keys(data).filter((uid) => isExpired(data[uid] ?? '')));

const partOf = ({ metadata }: CostConfigMap): number => Number(metadata.name.split('-').at(-1));

const sizeOf = ({ data = {} }: CostConfigMap, without: ReadonlySet<string> = new Set()): number =>
  Object.entries(data).reduce(
    (size, [uid, text]) => (without.has(uid) ? size : size + uid.length + Buffer.byteLength(text)),
    0,
  );
