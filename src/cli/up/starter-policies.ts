/** The starter policies of the repository (policies/): applied to a local cluster, or evaluated without one. */
import { Readable } from 'node:stream';
import type { PolicySource } from '../../admission/index.ts';
import { policy } from '../../api/index.ts';
import { emptyWorld } from '../../policy/index.ts';
import { type Client, isAlreadyExists, type Resource } from '../../runtime/index.ts';
import { coreNamespaces as namespaces, packageFile } from '../../runtime/internal.ts';
import { takeInventory } from '../check/inventory.ts';
import { inputErrorOf, readObjects } from '../documents/index.ts';

const folders = ['platform', 'pod-security'].map((name) => packageFile(`policies/${name}`));

const readStarter = () => readObjects(folders, Readable.from([]));

/** `addStarterPolicies` adds the missing ones, because users may have changed the existing ones. Returns their number. */
export async function addStarterPolicies(client: Client): Promise<number> {
  const found = await readStarter();
  const present = new Set((await client.list(policy.resource)).items.map(({ metadata }) => metadata.name));
  const missing = found.filter(({ object }) => !present.has(object.metadata.name));
  await Promise.all(missing.map(({ object }) => addMissing(client, policy.resource, object)));
  return found.length;
}

export async function addNamespaces(client: Client, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await addMissing(client, namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
}

/** `starterSource` serves a fixed policy set, because nothing changes without a cluster. */
export async function starterSource(): Promise<PolicySource> {
  const { set, problems } = takeInventory(await readStarter());
  if (problems.length > 0) throw inputErrorOf(problems);
  return { current: () => ({ set, world: emptyWorld(Date.now()) }), synced: () => true };
}

async function addMissing(client: Client, resource: Resource, object: Parameters<Client['create']>[1]): Promise<void> {
  await client.create(resource, object, { fieldManager: 'kidp' }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}
