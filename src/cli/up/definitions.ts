/** Installs the CRDs of kidp into a cluster, waits until they are served, and removes them from clusters that did not have them. */
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

/** `installDefinitions` applies the CRDs of this version. */
export async function installDefinitions(client: Client): Promise<void> {
  await Promise.all(kinds.map((kind) => applyDefinition(client, crdFor(kind))));
}

/**
 * `addMissingDefinitions` installs the CRDs that an existing cluster does not have; those it has are left alone. The cleanup removes the
 * added ones, except CRDs that have objects: those are listed for the user.
 */
export async function addMissingDefinitions(client: Client, cleanup: Cleanup): Promise<void> {
  for (const kind of kinds) {
    const definition = crdFor(kind);
    const { name } = definition.metadata;
    if (await exists(client, name)) continue;
    // The step is added first, so that a failure halfway leaves nothing behind.
    cleanup.add(`removing ${name}`, () => removeUnused(client, name, kind.resource));
    await applyDefinition(client, definition);
  }
}

/** Returns notes for the user, if any. */
async function removeUnused(client: Client, name: string, resource: Resource): Promise<string[]> {
  try {
    const { items } = await client.list(resource, { limit: 1 });
    if (items.length > 0) {
      return [`CRD ${name} was kept because it has objects. To remove it, delete the objects and the CRD.`];
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
        new Error(`CustomResourceDefinition ${name} is not Established after 30 s: check its conditions.`),
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
