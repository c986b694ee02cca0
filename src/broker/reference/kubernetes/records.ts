/**
 * Stores records as ConfigMaps in one namespace of the cluster that the broker deploys to. The resourceVersion makes a write
 * succeed only over the record it was computed from, whichever instance writes.
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
import { getOrUndefined } from './cluster-cache.ts';
import { BROKER_LABEL, labelValue, UID_LABEL } from './names.ts';
import { configMaps } from './resources.ts';

interface RecordObject extends KubernetesObject {
  data?: { record?: string };
}

const RECORD_LABEL = 'broker.platform.company.com/record';

export class ClusterRecords implements RecordStore {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #broker: string;
  readonly #labels: Readonly<Record<string, string>>;
  readonly #reflector: Reflector<RecordObject>;
  readonly #subscribers = new Set<(uid: string) => void>();
  /** The writes of this instance that its watch has not delivered yet: the instance continues from its own writes. */
  readonly #written = new Map<string, StoredRecord>();
  readonly #parsed = new WeakMap<RecordObject, StoredRecord>();

  constructor(client: Client, namespace: string, broker: string) {
    this.#client = client;
    this.#namespace = namespace;
    this.#broker = broker;
    this.#labels = { [BROKER_LABEL]: labelValue(broker), [RECORD_LABEL]: 'true' };
    const notify = (object: RecordObject) => this.#onChange(object);
    this.#reflector = new Reflector<RecordObject>({
      client,
      resource: configMaps,
      namespace,
      labelSelector: Object.entries(this.#labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(','),
      stripManagedFields: true,
      handlers: {
        added: notify,
        updated: notify,
        deleted: (object) => void this.#written.delete(this.#parse(object)?.record.uid ?? ''),
      },
    });
  }

  /** Resolves once all existing records are known. */
  async start(): Promise<void> {
    this.#reflector.start();
    await this.#reflector.synced();
  }

  stop(): Promise<void> {
    return this.#reflector.stop();
  }

  subscribe(changed: (uid: string) => void): () => void {
    this.#subscribers.add(changed);
    for (const object of this.#reflector.store) {
      const stored = this.#parse(object);
      if (stored !== undefined) changed(stored.record.uid);
    }
    return () => this.#subscribers.delete(changed);
  }

  known(uid: string): StoredRecord | undefined {
    return this.#written.get(uid) ?? this.#watched(uid);
  }

  *all(): Generator<StoredRecord> {
    for (const object of this.#reflector.store) {
      const stored = this.#parse(object);
      if (stored !== undefined) yield this.#written.get(stored.record.uid) ?? stored;
    }
  }

  async get(uid: string): Promise<StoredRecord | undefined> {
    const object = await this.#read(this.#nameOf(uid));
    return object === undefined ? undefined : this.#parse(object);
  }

  async put(record: DeploymentRecord, over: string | undefined): Promise<StoredRecord | undefined> {
    const object = this.#objectOf(record, over);
    try {
      const answer =
        over === undefined
          ? await this.#client.create(configMaps, object)
          : await this.#client.update(configMaps, object);
      const stored = { record, version: answer.metadata.resourceVersion ?? '' };
      this.#written.set(record.uid, stored);
      return stored;
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !(over !== undefined && isNotFound(error))) throw error;
      // The watch may be behind this instance's own writes: continuing from the watch would repeat an older step.
      const live = await this.get(record.uid);
      if (live === undefined) this.#written.delete(record.uid);
      else if (isAtLeast(live.version, this.#written.get(record.uid)?.version ?? '0')) {
        this.#written.set(record.uid, live);
      }
      return undefined;
    }
  }

  async drop(uid: string, version: string): Promise<void> {
    this.#written.delete(uid);
    try {
      await this.#client.delete(configMaps, this.#keyOf(uid), { preconditions: { resourceVersion: version } });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }

  /** The record of an object that another broker keeps in the same namespace. */
  async ofBroker(former: string, uid: string): Promise<DeploymentRecord | undefined> {
    const object = await this.#read(this.#nameOf(uid, former));
    return object === undefined ? undefined : this.#parse(object)?.record;
  }

  /** Marks the record of another broker, if there is one, as handed over to this broker. */
  async handOver(former: string, to: DeploymentRecord, now: number): Promise<void> {
    while (true) {
      const object = await this.#read(this.#nameOf(to.uid, former));
      const present = object === undefined ? undefined : this.#parse(object)?.record;
      if (object === undefined || present === undefined || !isOlder(present, to)) return;
      try {
        await this.#client.update(configMaps, {
          ...object,
          data: { record: JSON.stringify(handedOver(present, to.deploymentId, now)) },
        });
        return;
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
    }
  }

  #onChange(object: RecordObject): void {
    const stored = this.#parse(object);
    if (stored === undefined) return;
    const { uid } = stored.record;
    const own = this.#written.get(uid);
    if (own !== undefined && isAtLeast(stored.version, own.version)) this.#written.delete(uid);
    for (const notify of this.#subscribers) notify(uid);
  }

  #watched(uid: string): StoredRecord | undefined {
    const object = this.#reflector.store.get(this.#keyOf(uid));
    return object === undefined ? undefined : this.#parse(object);
  }

  #parse(object: RecordObject): StoredRecord | undefined {
    const known = this.#parsed.get(object);
    if (known !== undefined) return known;
    const text = object.data?.record;
    if (text === undefined) return undefined;
    const stored = { record: JSON.parse(text) as DeploymentRecord, version: object.metadata.resourceVersion ?? '' };
    this.#parsed.set(object, stored);
    return stored;
  }

  #read(name: string): Promise<RecordObject | undefined> {
    return getOrUndefined<RecordObject>(this.#client, configMaps, { namespace: this.#namespace, name });
  }

  #objectOf(record: DeploymentRecord, over: string | undefined): RecordObject {
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        ...this.#keyOf(record.uid),
        labels: { ...this.#labels, [UID_LABEL]: labelValue(record.uid) },
        ...(over === undefined ? {} : { resourceVersion: over }),
      },
      data: { record: JSON.stringify(record) },
    };
  }

  #keyOf(uid: string) {
    return { namespace: this.#namespace, name: this.#nameOf(uid) };
  }

  #nameOf(uid: string, broker = this.#broker): string {
    return `kidp-record-${createHash('sha256').update(`${broker}/${uid}`).digest('hex').slice(0, 32)}`;
  }
}

function isOlder(one: DeploymentRecord, other: DeploymentRecord): boolean {
  const [left, right] = [parseDeploymentId(one.deploymentId), parseDeploymentId(other.deploymentId)];
  return left !== undefined && right !== undefined && compareDeployments(left, right) < 0;
}

/** Compares resourceVersions as numbers, which Kubernetes guarantees for one resource since 1.35. */
const isAtLeast = (left: string, right: string): boolean => BigInt(left) >= BigInt(right);
