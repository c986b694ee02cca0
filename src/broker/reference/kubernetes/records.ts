/**
 * Records as ConfigMaps of one namespace of the cluster that the things are in. The API server's resourceVersion is what makes a
 * write count only over the record it was made from, whichever instance makes it.
 */
import { createHash } from 'node:crypto';
import {
  type Client,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubernetesObject,
  Reflector,
} from '../../../runtime/index.ts';
import { compareDeployments, parseDeploymentId } from '../../deployment-id.ts';
import type { RecordStore, StoredRecord } from '../provider.ts';
import { type DeploymentRecord, handedOver } from '../record.ts';
import { BROKER_LABEL, labelValue, UID_LABEL } from './names.ts';
import { configMaps } from './resources.ts';

interface RecordObject extends KubernetesObject {
  data?: { record?: string };
}

const RECORD_LABEL = 'broker.platform.company.com/record';

export interface ClusterRecords extends RecordStore {
  /** Resolves once all records that are there are known. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** What another broker, whose records are in the same namespace, knows about an object. */
  ofBroker(former: string, uid: string): Promise<DeploymentRecord | undefined>;
  /** Writes into the record of another broker, where there is one, that it has nothing to do with the object any more. */
  handOver(former: string, to: DeploymentRecord, now: number): Promise<void>;
}

export function clusterRecords(client: Client, namespace: string, broker: string): ClusterRecords {
  const subscribers = new Set<(uid: string) => void>();
  /** What this instance wrote, until its watch has caught up: so that it goes on from its own writes. */
  const written = new Map<string, StoredRecord>();
  const parsed = new WeakMap<RecordObject, StoredRecord>();
  const labels = { [BROKER_LABEL]: labelValue(broker), [RECORD_LABEL]: 'true' };
  const nameOf = (uid: string, of = broker) =>
    `kidp-record-${createHash('sha256').update(`${of}/${uid}`).digest('hex').slice(0, 32)}`;

  const read = (object: RecordObject): StoredRecord | undefined => {
    const known = parsed.get(object);
    if (known !== undefined) return known;
    const text = object.data?.record;
    if (text === undefined) return undefined;
    const stored = { record: JSON.parse(text) as DeploymentRecord, version: object.metadata.resourceVersion ?? '' };
    parsed.set(object, stored);
    return stored;
  };
  const notify = (object: RecordObject) => {
    const stored = read(object);
    if (stored === undefined) return;
    const { uid } = stored.record;
    const ours = written.get(uid);
    if (ours !== undefined && isAsNew(stored.version, ours.version)) written.delete(uid);
    for (const each of subscribers) each(uid);
  };
  const reflector = new Reflector<RecordObject>({
    client,
    resource: configMaps,
    namespace,
    labelSelector: Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
    stripManagedFields: true,
    handlers: {
      added: notify,
      updated: notify,
      deleted: (object) => void written.delete(read(object)?.record.uid ?? ''),
    },
  });
  const key = (uid: string) => ({ namespace, name: nameOf(uid) });
  const seen = (uid: string): StoredRecord | undefined => {
    const object = reflector.store.get(key(uid));
    return object === undefined ? undefined : read(object);
  };

  const objectOf = async (name: string): Promise<RecordObject | undefined> => {
    try {
      return await client.get<RecordObject>(configMaps, { namespace, name });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  const get = async (uid: string): Promise<StoredRecord | undefined> => {
    const object = await objectOf(nameOf(uid));
    return object === undefined ? undefined : read(object);
  };

  return {
    async start() {
      reflector.start();
      await reflector.synced();
    },
    stop: () => reflector.stop(),
    subscribe(changed) {
      subscribers.add(changed);
      for (const object of reflector.store) {
        const stored = read(object);
        if (stored !== undefined) changed(stored.record.uid);
      }
      return () => subscribers.delete(changed);
    },
    known: (uid) => written.get(uid) ?? seen(uid),
    *all() {
      for (const object of reflector.store) {
        const stored = read(object);
        if (stored !== undefined) yield written.get(stored.record.uid) ?? stored;
      }
    },
    get,
    async put(record, over) {
      const object: RecordObject = {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          ...key(record.uid),
          labels: { ...labels, [UID_LABEL]: labelValue(record.uid) },
          ...(over === undefined ? {} : { resourceVersion: over }),
        },
        data: { record: JSON.stringify(record) },
      };
      try {
        const answer =
          over === undefined ? await client.create(configMaps, object) : await client.update(configMaps, object);
        const stored = { record, version: answer.metadata.resourceVersion ?? '' };
        written.set(record.uid, stored);
        return stored;
      } catch (error) {
        if (!isConflict(error) && !isAlreadyExists(error) && !(over !== undefined && isNotFound(error))) throw error;
        // The watch may be behind what this instance wrote before: to go on from there would be to do something older once more.
        const live = await get(record.uid);
        if (live === undefined) written.delete(record.uid);
        else if (isAsNew(live.version, written.get(record.uid)?.version ?? '0')) written.set(record.uid, live);
        return undefined;
      }
    },
    async ofBroker(former, uid) {
      const object = await objectOf(nameOf(uid, former));
      return object === undefined ? undefined : read(object)?.record;
    },
    async handOver(former, to, now) {
      while (true) {
        const object = await objectOf(nameOf(to.uid, former));
        const present = object === undefined ? undefined : read(object)?.record;
        if (object === undefined || present === undefined || !isBefore(present, to)) return;
        try {
          await client.update(configMaps, {
            ...object,
            data: { record: JSON.stringify(handedOver(present, to.deploymentId, now)) },
          });
          return;
        } catch (error) {
          if (!isConflict(error)) throw error;
        }
      }
    },
    async drop(uid, version) {
      written.delete(uid);
      try {
        await client.delete(configMaps, key(uid), { preconditions: { resourceVersion: version } });
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    },
  };
}

function isBefore(one: DeploymentRecord, other: DeploymentRecord): boolean {
  const [left, right] = [parseDeploymentId(one.deploymentId), parseDeploymentId(other.deploymentId)];
  return left !== undefined && right !== undefined && compareDeployments(left, right) < 0;
}

/** Versions of one resource can be compared as numbers, as Kubernetes says since 1.35. */
const isAsNew = (left: string, right: string): boolean => BigInt(left) >= BigInt(right);
