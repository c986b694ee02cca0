/** Starts rollouts over the clusters of the testbed and waits for them. */
import { API_VERSION, type OperatorDeployment, operatorDeployment, type rolloutPhases } from '../../src/api/index.ts';
import type { Client } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { timed } from './figures.ts';

type Phase = (typeof rolloutPhases)[number];

const patient = { within: 900_000, every: 100 };

/** Resolves when the rollout has ended; throws if it ended in another phase than wanted. */
export async function rollOut(client: Client, name: string, spec: object, wanted: Phase = 'Completed') {
  return timed(async () => {
    await client.create(operatorDeployment.resource, {
      apiVersion: API_VERSION,
      kind: 'OperatorDeployment',
      metadata: { name },
      spec,
    } as unknown as OperatorDeployment);
    return untilEnded(client, name, wanted);
  });
}

/** `eventually` would keep waiting after another end. */
async function untilEnded(client: Client, name: string, wanted: Phase): Promise<OperatorDeployment> {
  const found = await eventually(async () => {
    const { status, ...rest } = await client.get<OperatorDeployment>(operatorDeployment.resource, { name });
    return status?.phase === 'Completed' || status?.phase === 'Failed' ? { ...rest, status } : false;
  }, patient);
  if (found.status.phase !== wanted) throw new Error(`${name} ended as ${found.status.phase}: ${said(found)}`);
  return found;
}

const said = ({ status }: OperatorDeployment): string =>
  [
    ...(status?.rollback?.message === undefined ? [] : [status.rollback.message]),
    ...(status?.clusters ?? []).flatMap(({ name, state, message = '' }) =>
      state === 'Healthy' ? [] : [`${name} ${state} ${message}`],
    ),
  ].join('; ');

/** `rollBack` requests a rollback and measures the time until it has finished. */
export function rollBack(client: Client, name: string) {
  return timed(async () => {
    await client.patch(operatorDeployment.resource, { name }, { type: 'merge', body: { spec: { rollback: true } } });
    return eventually(async () => {
      const found = await client.get<OperatorDeployment>(operatorDeployment.resource, { name });
      return found.status?.rollback?.finishedAt === undefined ? false : found;
    }, patient);
  });
}

/** `rollbackMilliseconds` returns the duration of an automatic rollback. */
export function rollbackMilliseconds({ status }: OperatorDeployment): number {
  const { startedAt = '', finishedAt = '' } = status?.rollback ?? {};
  return Date.parse(finishedAt) - Date.parse(startedAt);
}
