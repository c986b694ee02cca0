import { expect } from 'vitest';
import type { Client, Resource, UnknownObject } from '../../src/runtime/index.ts';

/**
 * Waits until a ResourceQuota keeps objects of a kind out. Having been created is not enough: the admission of quotas learns of it
 * through a watch, and admits everything until then.
 */
export async function untilQuotaRefuses(client: Client, resource: Resource, object: UnknownObject): Promise<void> {
  const refusal = () =>
    client.create(resource, object, { dryRun: true }).then(
      () => 'admitted',
      (error: unknown) => String(error),
    );
  await expect.poll(refusal).toContain('exceeded quota');
}
