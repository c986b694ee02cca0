/** Copies a connection into the namespace of its user. This is the only code here that reads or writes credentials. */
import { type Client, isAlreadyExists, isNotFound } from '../../runtime/index.ts';
import type { OwnedObject } from '../platform/ownership.ts';
import { kubernetesSecrets } from '../platform/resources.ts';
import {
  addressOf,
  type Connection,
  connectionSecret,
  credentialsOf,
  isCopyOf,
  isCurrent,
  isMadeFor,
  type SecretObject,
} from './connection.ts';
import type { Obstacle } from './decide.ts';

export const fieldManager = 'kidp-bindings';

/** `readConnection` returns the connection of a source, from the copy if that is current. */
export async function readConnection(
  client: Client,
  source: OwnedObject,
  copy: SecretObject | undefined,
): Promise<Connection | Obstacle> {
  const { connectionSecret: secret } = source.status ?? {};
  if (copy !== undefined && secret?.revision !== undefined && isCurrent(copy, source, secret.revision))
    return { data: copy.data ?? {}, revision: secret.revision };
  if (secret === undefined) return addressOf(source);
  return (await read(client, source, secret.name)) ?? { kind: 'missing', secret: secret.name };
}

/** `copyConnection` returns the obstacle, if there is one. */
export async function copyConnection(
  client: Client,
  user: OwnedObject,
  source: OwnedObject,
  connection: Connection,
  copy: SecretObject | undefined,
): Promise<Obstacle | undefined> {
  if (copy !== undefined && isCurrent(copy, source, connection.revision)) return undefined;
  const wanted = connectionSecret(user, source, connection);
  return (await writeCopy(client, user, wanted, copy)) ? undefined : { kind: 'taken', secret: wanted.metadata.name };
}

async function read(client: Client, source: OwnedObject, name: string): Promise<Connection | undefined> {
  try {
    const key = { namespace: source.metadata.namespace ?? '', name };
    const secret = await client.get<SecretObject>(kubernetesSecrets, key);
    // A forged status must not name another Secret of the namespace as the connection.
    return isMadeFor(secret, source) ? credentialsOf(source, secret) : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/**
 * `writeCopy` writes exactly this content and drops additions by others. Returns false if a Secret of that name is not
 * ours; it is left alone.
 */
async function writeCopy(
  client: Client,
  user: OwnedObject,
  wanted: SecretObject,
  known: SecretObject | undefined,
): Promise<boolean> {
  let there = known;
  if (there === undefined) {
    try {
      await client.create(kubernetesSecrets, wanted, { fieldManager });
      return true;
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const { namespace = '', name } = wanted.metadata;
      there = await client.get<SecretObject>(kubernetesSecrets, { namespace, name });
    }
  }
  if (!isCopyOf(there, user)) return false;
  const { resourceVersion } = there.metadata;
  const metadata = { ...wanted.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
  await client.update(kubernetesSecrets, { ...wanted, metadata }, { fieldManager });
  return true;
}

export async function removeCopy(client: Client, { metadata }: SecretObject): Promise<void> {
  const { namespace = '', name, uid } = metadata;
  try {
    await client.delete(kubernetesSecrets, { namespace, name }, uid === undefined ? {} : { preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
