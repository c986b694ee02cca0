/**
 * Partition reassignments, listed and requested from the Kafka controller. The client library implements these requests, but has no
 * methods for them.
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
  /** All servers with a replica, including those that are being added. */
  readonly servers: readonly number[];
  /** The servers that are being added. */
  readonly adding: readonly number[];
  /** The servers that lose their replica once the reassignment is done. */
  readonly removing: readonly number[];
}

/**
 * `listReassignments` returns the pending reassignments by topic. The result is empty if this Kafka does not support the request or denies
 * it: then this broker cannot have started any.
 */
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

/** `reassign` moves partitions to these servers. Resolves once Kafka has accepted it, before the messages are copied. */
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
      `the replication of topic ${name} cannot be changed: this Kafka does not support AlterPartitionReassignments. Set spec.replication back to its previous value, or create another Topic`,
    );
  }
  const partitions = [...to].map(([partitionIndex, servers]) => ({ partitionIndex, replicas: [...servers] }));
  await ask(timeoutMilliseconds, true, [{ name, partitions }]);
}

const timeoutMilliseconds = 10_000;

type ControllerCall<Api> =
  Api extends API<infer Parameters, infer Response> ? (...parameters: Parameters) => Promise<Response> : never;

/** `controllerCall` returns a function that sends a request to the controller; undefined if this Kafka does not support the request. */
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
  if (connection === undefined) throw new Error('Kafka has no active controller');
  return ((...parameters: unknown[]) => api.async(connection, ...parameters)) as ControllerCall<Api>;
}
