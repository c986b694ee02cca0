/** Deletes the access objects of kidp from a remote cluster. */
import type { Cluster } from '../../api/index.ts';
import { connect } from '../../runtime/index.ts';
import type { Budgets } from '../../runtime/internal.ts';
import { removeAccounts } from './accounts.ts';
import { type CredentialsSource, lookupFor, readCredentials } from './credentials.ts';
import { accessFailure } from './failures.ts';

/** `removeAccess` rejects with FleetError. It is idempotent. */
export async function removeAccess(
  source: CredentialsSource,
  cluster: Cluster,
  { namespace, budgets }: { readonly namespace: string; readonly budgets: Budgets },
): Promise<void> {
  const { config } = await readCredentials(source, cluster);
  const lookup = lookupFor(source.guard, config);
  const client = connect(config, { connections: 2, budgets, lookup, timeoutMilliseconds: 15_000 });
  try {
    await removeAccounts({ client, namespace });
  } catch (error) {
    throw accessFailure(cluster.metadata.name, error);
  } finally {
    await client.close();
  }
}
