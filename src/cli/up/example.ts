/** Adds an example CRD with objects to a local cluster, so that users can try a change that breaks one of them. */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CustomResourceDefinition } from '../../api/index.ts';
import { type Client, isAlreadyExists, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';
import { packageFile } from '../../runtime/internal.ts';
import { readObjects } from '../documents/index.ts';
import { customResourceDefinitions, untilEstablished } from './definitions.ts';

const fileOf = (name: string) => packageFile(`examples/quickstart/crd/${name}.yaml`);

/** `kubectl apply` warns if this annotation is missing. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** `addExample` adds the missing objects and keeps those that users changed. It retries every second. */
export async function addExample(client: Client, retries = 0): Promise<void> {
  for (let left = retries; ; left -= 1) {
    try {
      return await addOnce(client);
    } catch (error) {
      if (left <= 0) throw error;
      await sleep(1_000);
    }
  }
}

async function addOnce(client: Client): Promise<void> {
  const [definition] = (await readObjects([fileOf('definition')], Readable.from([]))).map(({ object }) => object);
  if (definition === undefined) return;
  await addMissing(client, customResourceDefinitions, definition);
  await untilEstablished(client, definition.metadata.name);
  const { spec } = definition as unknown as CustomResourceDefinition;
  const resource: Resource = {
    group: spec.group,
    version: spec.versions[0]?.name ?? 'v1',
    plural: spec.names.plural,
    kind: spec.names.kind,
    namespaced: true,
  };
  await untilServed(client, resource);
  for (const { object } of await readObjects([fileOf('objects')], Readable.from([])))
    await addMissing(client, resource, object);
}

/** An API server marks a CRD as Established shortly before it serves it. */
async function untilServed(client: Client, resource: Resource): Promise<void> {
  for (let left = 100; ; left -= 1) {
    try {
      await client.list(resource, { limit: 1 });
      return;
    } catch (error) {
      if (!isNotFound(error) || left === 0) throw error;
      await sleep(100);
    }
  }
}

async function addMissing(client: Client, resource: Resource, object: UnknownObject): Promise<void> {
  const present = await client.get(resource, object.metadata).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  if (present !== undefined) return;
  const annotations = { [lastApplied]: `${JSON.stringify(object)}\n` };
  const added = { ...object, metadata: { ...object.metadata, annotations } };
  await client.create(resource, added, { fieldManager: 'kubectl-client-side-apply' }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
