/**
 * A content-addressed store in Secrets: gzipped, split into parts, immutable. The first part is written last and
 * deleted first, so its presence implies all others.
 */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import {
  type Client,
  type Clock,
  eachObject,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubernetesObject,
  systemClock,
} from '../../runtime/index.ts';
import { coreSecrets as secrets } from '../../runtime/internal.ts';
import { FleetError } from '../contract.ts';

export interface StoreOptions {
  /** The client of the management cluster. */
  readonly client: Client;
  /** The namespace of the platform. */
  readonly namespace: string;
  readonly clock?: Clock;
}

interface Part extends KubernetesObject {
  type?: string;
  immutable?: boolean;
  data?: Record<string, string>;
}

const group = 'platform.company.com';
const storeLabel = `${group}/store`;
const contentLabel = `${group}/content`;
const digestAnnotation = `${group}/digest`;
const partsAnnotation = `${group}/parts`;
const keptAnnotation = `${group}/kept-at`;
/** A Secret holds at most one mebibyte. */
const partBytes = 900 * 1024;
const mostParts = 16;
const mostUnpacked = 256 * 1024 * 1024;
const hour = 3_600_000;
/** How often the time of last use is updated. */
const touchMilliseconds = hour / 6;

const zip = promisify<Buffer, Buffer>(gzip);
const unzip = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip);

export class ContentStore {
  readonly #client: Client;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #kind: string;

  /** `kind` is the prefix of the names. */
  constructor(kind: string, { client, namespace, clock = systemClock }: StoreOptions) {
    this.#kind = kind;
    this.#client = client;
    this.#namespace = namespace;
    this.#clock = clock;
  }

  /** Returns the name and digest. Rejects with `snapshot/too-large`. */
  async put(text: string): Promise<{ readonly name: string; readonly digest: string }> {
    const digest = digestOf(text);
    const name = this.#nameOf(digest);
    const packed = await zip(Buffer.from(text));
    const count = Math.max(1, Math.ceil(packed.length / partBytes));
    if (count > mostParts) {
      throw new FleetError(
        'snapshot/too-large',
        `The snapshot has ${packed.length} bytes gzipped, the limit is ${mostParts * partBytes}: make the chart smaller`,
      );
    }
    for (let index = count - 1; index >= 0; index -= 1) {
      const data = packed.subarray(index * partBytes, (index + 1) * partBytes);
      await this.#keep(this.#part(name, index, { digest, count, data }));
    }
    return { name, digest };
  }

  /** Rejects with `snapshot/missing` or `snapshot/damaged`. */
  async get(name: string): Promise<{ readonly text: string; readonly digest: string }> {
    const first = await this.#read(name, name);
    const { [digestAnnotation]: digest = '', [partsAnnotation]: count = '' } = first.metadata.annotations ?? {};
    if (!/^[0-9]{1,2}$/.test(count) || this.#nameOf(digest) !== name) throw damaged(name);
    const parts = [first];
    for (let index = 1; index < Number(count); index += 1) parts.push(await this.#read(name, partName(name, index)));
    const packed = Buffer.concat(parts.map(({ data }) => Buffer.from(data?.content ?? '', 'base64')));
    const text = await unzip(packed, { maxOutputLength: mostUnpacked }).then(
      (bytes) => bytes.toString('utf8'),
      () => undefined,
    );
    if (text === undefined || digestOf(text) !== digest) throw damaged(name);
    return { text, digest };
  }

  /** Deletes everything that is not named and was not stored within the last hour. */
  async retain(names: ReadonlySet<string>): Promise<void> {
    const unwanted: Part[] = [];
    const labelSelector = `${storeLabel}=${this.#kind}`;
    const pages = { firstPage: 20, laterPages: 20 };
    await eachObject(
      this.#client,
      secrets,
      { namespace: this.#namespace, labelSelector, ...pages },
      ({ data: _, ...part }) => {
        const content = part.metadata.labels?.[contentLabel] ?? '';
        if (!names.has(content) && this.#clock.now() - keptAt(part.metadata) > hour) unwanted.push(part);
      },
    );
    // First parts are deleted before the others.
    for (const { metadata } of [...unwanted].sort((one, other) => depth(one) - depth(other))) {
      const { uid, resourceVersion } = metadata;
      const preconditions = {
        ...(uid === undefined ? {} : { uid }),
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      const key = { namespace: this.#namespace, name: metadata.name };
      await this.#client.delete(secrets, key, { preconditions }).catch((error: unknown) => {
        // It was deleted, or just used again.
        if (!isNotFound(error) && !isConflict(error)) throw error;
      });
    }
  }

  #nameOf(digest: string): string {
    return `${this.#kind}-${digest.replace('sha256:', '').slice(0, 32)}`;
  }

  #part(name: string, index: number, content: { digest: string; count: number; data: Buffer }): Part {
    return {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        name: index === 0 ? name : partName(name, index),
        namespace: this.#namespace,
        labels: { [storeLabel]: this.#kind, [contentLabel]: name },
        annotations: {
          [digestAnnotation]: content.digest,
          [partsAnnotation]: String(content.count),
          [keptAnnotation]: new Date(this.#clock.now()).toISOString(),
        },
      },
      type: `${group}/${this.#kind}`,
      immutable: true,
      data: { content: content.data.toString('base64') },
    };
  }

  async #keep(part: Part): Promise<void> {
    const { name } = part.metadata;
    try {
      await this.#client.create(secrets, part);
      return;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    const there = await this.#client
      .get<Part>(secrets, { namespace: this.#namespace, name })
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
        return undefined;
      });
    // It was deleted in between.
    if (there === undefined) return this.#keep(part);
    if (there.data?.content !== part.data?.content) throw damaged(name);
    if (this.#clock.now() - keptAt(there.metadata) < touchMilliseconds) return;
    const annotations = { [keptAnnotation]: new Date(this.#clock.now()).toISOString() };
    try {
      const body = { metadata: { annotations } };
      await this.#client.patch(secrets, { namespace: this.#namespace, name }, { type: 'merge', body });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#keep(part);
    }
  }

  async #read(content: string, name: string): Promise<Part> {
    try {
      return await this.#client.get<Part>(secrets, { namespace: this.#namespace, name });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (content !== name) throw damaged(content);
      throw new FleetError('snapshot/missing', `${name} does not exist in the store of the platform`);
    }
  }
}

const partName = (name: string, index: number): string => `${name}-${index}`;
const depth = ({ metadata }: Part): number => (metadata.name === metadata.labels?.[contentLabel] ? 0 : 1);
const keptAt = ({ annotations }: KubernetesObject['metadata']): number =>
  Date.parse(annotations?.[keptAnnotation] ?? '') || 0;
const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

const damaged = (name: string): FleetError =>
  new FleetError(
    'snapshot/damaged',
    `${name} in the store of the platform is damaged: it was modified, or a part is missing`,
  );
