/**
 * Partitions that are being moved between servers, as the controller of Kafka knows it. The client has these requests, but no methods
 * for them.
 */
import {
  type Admin,
  type API,
  type alterPartitionReassignmentsV1,
  kGetApi,
  type listPartitionReassignmentsV0,
  UnsupportedApiError,
} from '@platformatic/kafka';
import { describeFailure } from '../../kafka/failure.ts';
import { permanent } from '../provider.ts';

export interface Reassignment {
  readonly partition: number;
  /** All that have its messages or are being given them. */
  readonly servers: readonly number[];
  /** Those that are being given its messages. */
  readonly adding: readonly number[];
  /** Those that give them up when that is done. */
  readonly removing: readonly number[];
}

/** Of each topic of which anything is being moved. None where we may not ask or are not understood: then we have begun none. */
export async function listReassignments(
  admin: Admin,
  controller: number,
): Promise<ReadonlyMap<string, readonly Reassignment[]>> {
  const ask = await controllerCall<typeof listPartitionReassignmentsV0.api>(
    admin,
    controller,
    'ListPartitionReassignments',
  );
  if (ask === undefined) return new Map();
  try {
    const { topics } = await ask(timeoutMilliseconds, null);
    return new Map(
      topics.map(({ name, partitions }) => [
        name,
        partitions.map(({ partitionIndex, replicas, addingReplicas, removingReplicas }) => ({
          partition: partitionIndex,
          servers: replicas,
          adding: addingReplicas,
          removing: removingReplicas,
        })),
      ]),
    );
  } catch (error) {
    if (/CLUSTER_AUTHORIZATION_FAILED/.test(describeFailure(error))) return new Map();
    throw error;
  }
}

/** Has partitions moved to these servers. Resolves when it is decided, not when it is done. */
export async function reassign(
  admin: Admin,
  controller: number,
  name: string,
  to: ReadonlyMap<number, readonly number[]>,
): Promise<void> {
  const ask = await controllerCall<typeof alterPartitionReassignmentsV1.api>(
    admin,
    controller,
    'AlterPartitionReassignments',
  );
  if (ask === undefined) {
    throw permanent(
      'replication-fixed',
      `messages of topic ${name} cannot be given more or fewer servers, as this Kafka has no way to ask for it: set spec.replication to what it was, or make another Topic`,
    );
  }
  const partitions = [...to].map(([partitionIndex, servers]) => ({ partitionIndex, replicas: [...servers] }));
  await ask(timeoutMilliseconds, true, [{ name, partitions }]);
}

const timeoutMilliseconds = 10_000;

type ControllerCall<Api> = Api extends API<infer Words, infer Answer> ? (...words: Words) => Promise<Answer> : never;

/** Undefined where this Kafka does not know the request. Without ZooKeeper any server is asked: they pass it on. */
async function controllerCall<Api>(
  admin: Admin,
  controller: number,
  name: string,
): Promise<ControllerCall<Api> | undefined> {
  const api = await new Promise<API<unknown[], unknown> | undefined>((resolve, reject) => {
    admin[kGetApi]<unknown[], unknown>(name, (error, found) =>
      error === null || error instanceof UnsupportedApiError ? resolve(found) : reject(error),
    );
  });
  if (api === undefined) return undefined;
  const connection = (await admin.connectToBrokers([controller])).get(controller);
  if (connection === undefined) throw new Error('Kafka has no controller just now');
  return ((...words: unknown[]) => api.async(connection, ...words)) as ControllerCall<Api>;
}
