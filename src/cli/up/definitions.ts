/** Our CustomResourceDefinitions in a cluster: put there, waited for, and taken back where they were ours to take. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type CustomResourceDefinition, crdFor, kinds } from '../../api/index.ts';
import type { Cleanup } from '../../platform/index.ts';
import { type Client, isNotFound, type Resource, type UnknownObject } from '../../runtime/index.ts';

export const customResourceDefinitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** Brings every kind to the version of this program. */
export async function installDefinitions(client: Client): Promise<void> {
  await Promise.all(kinds.map((kind) => applyDefinition(client, crdFor(kind))));
}

/**
 * Adds the kinds that a cluster of somebody else's does not have; those it has stay as they are. Taken back is what was added, but
 * never a kind of which there are objects: the user is told which those are.
 */
export async function addMissingDefinitions(client: Client, cleanup: Cleanup): Promise<void> {
  for (const kind of kinds) {
    const definition = crdFor(kind);
    const { name } = definition.metadata;
    if (await exists(client, name)) continue;
    // Before it is there, so that a failure halfway leaves nothing.
    cleanup.add(`removing ${name}`, () => removeUnused(client, name, kind.resource));
    await applyDefinition(client, definition);
  }
}

/** What the user should know, if anything. */
async function removeUnused(client: Client, name: string, resource: Resource): Promise<string[]> {
  try {
    const { items } = await client.list(resource, { limit: 1 });
    if (items.length > 0) {
      return [`${name} stays: there are objects of it. Delete them and the definition to remove it.`];
    }
    await client.delete(customResourceDefinitions, { name });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return [];
}

async function applyDefinition(client: Client, definition: CustomResourceDefinition): Promise<void> {
  await client.apply(customResourceDefinitions, definition, { fieldManager: 'kidp', force: true });
  await untilEstablished(client, definition.metadata.name);
}

async function exists(client: Client, name: string): Promise<boolean> {
  try {
    await client.get(customResourceDefinitions, { name });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

export async function untilEstablished(client: Client, name: string): Promise<void> {
  for (let waited = 0; ; waited += 100) {
    const definition = await client.get(customResourceDefinitions, { name });
    if (isEstablished(definition)) return;
    if (waited > 30_000) {
      throw Object.assign(
        new Error(
          `the API server does not serve ${name} after 30 s: see the conditions of that CustomResourceDefinition.`,
        ),
        { code: 'up/not-established' },
      );
    }
    await sleep(100);
  }
}

function isEstablished(definition: UnknownObject): boolean {
  const status = definition.status as { conditions?: { type: string; status: string }[] } | undefined;
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false;
}
