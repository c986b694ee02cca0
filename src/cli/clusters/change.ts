/** `kidp clusters remove`, `pause` and `resume`. */
import { type Cluster, cluster as clusterKind } from '../../api/index.ts';
import { type Client, isNotFound, systemClock } from '../../runtime/index.ts';
import { sleep } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';
import { withManagement } from '../common/management.ts';
import type { WhereFlags } from '../common/management-flags.ts';
import type { Streams } from '../common/streams.ts';
import type { RemoveFlags } from './options.ts';
import { readAndWrite } from './tries.ts';

export async function removeCluster(name: string, flags: RemoveFlags, streams: Streams): Promise<number> {
  return withManagement(flags, async (client) => {
    const { metadata } = await existing(client, name);
    const { uid } = metadata;
    await client.delete(clusterKind.resource, { name }, uid === undefined ? {} : { preconditions: { uid } });
    if (!flags.wait) {
      streams.out.write(`cluster ${name} is removed as soon as its credentials are erased\n`);
      return 0;
    }
    const deadline = systemClock.monotonic() + flags.timeout * 1000;
    while (systemClock.monotonic() < deadline) {
      const left = await found(client, name);
      if (left === undefined || left.metadata.uid !== uid) {
        streams.out.write(`cluster ${name} removed, its credentials are erased\n`);
        return 0;
      }
      await sleep(systemClock, 500);
    }
    streams.err.write(
      `kidp: Cluster ${name} still exists after ${flags.timeout} s: the platform erases its credentials; check that it runs.\n`,
    );
    return 1;
  });
}

export async function pauseCluster(
  name: string,
  paused: boolean,
  flags: WhereFlags,
  streams: Streams,
): Promise<number> {
  return withManagement(flags, async (client) => {
    await readAndWrite(name, async () => {
      const { metadata, spec } = await existing(client, name);
      if ((spec.paused ?? false) === paused) return;
      const body = { metadata: { resourceVersion: metadata.resourceVersion }, spec: { paused: paused ? true : null } };
      await client.patch(clusterKind.resource, { name }, { type: 'merge', body }, { fieldManager: 'kidp-cli' });
    });
    streams.out.write(
      paused ? `cluster ${name} paused: nothing new is rolled out to it\n` : `cluster ${name} resumed\n`,
    );
    return 0;
  });
}

async function existing(client: Client, name: string): Promise<Cluster> {
  const cluster = await found(client, name);
  if (cluster === undefined)
    throw new InputError('cluster', `there is no Cluster ${name}; see \`kidp clusters list\`.`);
  return cluster;
}

async function found(client: Client, name: string): Promise<Cluster | undefined> {
  try {
    return await client.get<Cluster>(clusterKind.resource, { name });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
