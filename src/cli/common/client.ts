/** A client of a cluster for the duration of a command. */
import { ApiError, type Client, ConnectionError, connect, loadKubeconfig } from '../../runtime/index.ts';
import type { KubeconfigOptions } from '../../runtime/internal.ts';
import { InputError } from './failure.ts';

/**
 * `withClient` runs a task with a client and closes it. A cluster that does not answer is bad input (exit code 2), because an exit code
 * of 1 would mean that the checked objects are wrong.
 */
export async function withClient<Answer>(
  where: Pick<KubeconfigOptions, 'file' | 'context'>,
  task: (client: Client) => Promise<Answer>,
): Promise<Answer> {
  let client: Client | undefined;
  try {
    client = connect(loadKubeconfig(where));
    return await task(client);
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof ConnectionError)) throw error;
    throw new InputError('cluster', `request to the cluster failed: ${error.message}`);
  } finally {
    await client?.close();
  }
}
