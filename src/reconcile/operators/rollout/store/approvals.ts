/** Creates the Approvals that a rollout needs. */
import { type Approval, approval } from '../../../../api/index.ts';
import { type Client, isAlreadyExists } from '../../../../runtime/index.ts';
import type { RolloutSettings } from '../../settings.ts';
import { approvalFor, matchesRequest } from '../decide/approvals.ts';
import type { Rollout } from '../rollout.ts';
import { fieldManager } from './status-writer.ts';

/**
 * Creates the pending Approvals that do not exist yet. Returns the names of existing Approvals that do not match this
 * rollout.
 */
export async function createApprovals(
  client: Client,
  object: Rollout,
  settings: RolloutSettings,
): Promise<readonly string[]> {
  const mismatched: string[] = [];
  for (const { name, outcome } of object.status?.approvals ?? []) {
    const wanted = outcome === 'Pending' ? approvalFor(name, object, settings) : undefined;
    if (wanted === undefined) continue;
    try {
      await client.create(approval.resource, wanted, { fieldManager });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const found = await client.get<Approval>(approval.resource, { name });
      if (!matchesRequest(found, object, settings)) mismatched.push(name);
    }
  }
  return mismatched;
}
