/** Reports whether a Cluster is ready, from its status. */
import { type Cluster, cluster } from '../../../src/api/index.ts';
import { type Client, type Condition, getCondition } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { patient } from './testbed.ts';

export const untilReady = (client: Client, name: string, status: 'True' | 'False'): Promise<Condition> =>
  eventually(async () => {
    const found = await client.get<Cluster>(cluster.resource, { name });
    const ready = getCondition(found.status?.conditions as Condition[] | undefined, 'Ready');
    if (ready?.status !== status) throw new Error(`${name}: ${JSON.stringify(found.status)}`);
    return ready;
  }, patient);
