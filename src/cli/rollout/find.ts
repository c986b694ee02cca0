/** Rollouts by their names. */
import { operatorDeployment } from '../../api/index.ts';
import { type Client, isNotFound } from '../../runtime/index.ts';
import { InputError } from '../common/failure.ts';
import type { Rollout } from './summary.ts';

export async function findRollout(client: Pick<Client, 'get'>, name: string): Promise<Rollout | undefined> {
  try {
    return await client.get<Rollout>(operatorDeployment.resource, { name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export async function existingRollout(client: Pick<Client, 'get'>, name: string): Promise<Rollout> {
  const found = await findRollout(client, name);
  if (found !== undefined) return found;
  throw new InputError('rollout', `there is no OperatorDeployment ${name}; see \`kidp rollout list\`.`);
}
