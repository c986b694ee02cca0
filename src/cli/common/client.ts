/** A cluster for as long as a command needs it. */
import { ApiError, type Client, ConnectionError, connect, loadKubeconfig } from '../../runtime/index.ts';
import type { KubeconfigOptions } from '../../runtime/internal.ts';
import { InputError } from './failure.ts';

/**
 * Does something with a cluster and lets go of it. One that does not answer is bad input: an exit code of 1 would say that something
 * is wrong with what was to be checked.
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
    throw new InputError('cluster', `the cluster cannot be asked: ${error.message}`);
  } finally {
    await client?.close();
  }
}
