/**
 * Stores keys as one document. A write replaces the whole document and succeeds only over the version that was read, so
 * that replicas which rotate at the same time end up with the same keys.
 */
import { createHash, randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type Client,
  ConfigError,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubernetesObject,
} from '../../runtime/index.ts';
import { coreSecrets as secrets } from '../../runtime/internal.ts';

interface StoredDocument {
  /** Undefined if there is no document. */
  readonly text: string | undefined;
  /** The version that a write must be based on. */
  readonly version: string | undefined;
}

export interface KeyStore {
  /** The location, for messages. */
  readonly place: string;
  read(): Promise<StoredDocument>;
  write(text: string, version: string | undefined): Promise<'written' | 'conflict'>;
}

/** Keeps keys in memory: they are lost when the process ends. */
export function memoryKeyStore(): KeyStore {
  let stored: string | undefined;
  return {
    place: 'memory',
    read: async () => ({ text: stored, version: versionOf(stored) }),
    async write(text, version) {
      if (versionOf(stored) !== version) return 'conflict';
      stored = text;
      return 'written';
    },
  };
}

/**
 * Keeps keys in a file that processes share: of those that find none at the same time, one creates it and the others
 * use it. The file must be readable by its owner only.
 */
export function fileKeyStore(path: string): KeyStore {
  const read = async (): Promise<StoredDocument> => {
    try {
      const { mode } = await stat(path);
      if ((mode & 0o077) !== 0) {
        throw new ConfigError({
          code: 'keys-readable',
          message: `The key file ${path} is readable by other users`,
          hint: `Run \`chmod 600 ${path}\` if the keys were not read, otherwise delete the file: new keys are then created`,
        });
      }
      const text = await readFile(path, 'utf8');
      return { text, version: versionOf(text) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { text: undefined, version: undefined };
      throw error;
    }
  };
  return {
    place: path,
    read,
    async write(text, version) {
      if ((await read()).version !== version) return 'conflict';
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const temporary = `${path}.${randomUUID()}.tmp`;
      await writeFile(temporary, text, { mode: 0o600 });
      // The mode in `writeFile` applies to a new file only.
      await chmod(temporary, 0o600);
      if (version !== undefined) {
        await rename(temporary, path);
        return 'written';
      }
      try {
        // Unlike a rename, a link fails if another process was faster.
        await link(temporary, path);
        return 'written';
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        return 'conflict';
      } finally {
        await rm(temporary, { force: true });
      }
    },
  };
}

interface SecretObject extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

const field = 'keys.json';

/** Keeps keys in a Secret that all replicas share. Needs get, create and update on this Secret. */
export function secretKeyStore({
  client,
  namespace,
  name,
}: {
  client: Client;
  namespace: string;
  name: string;
}): KeyStore {
  return {
    place: `the Secret ${namespace}/${name}`,
    async read() {
      try {
        const { metadata, data } = await client.get<SecretObject>(secrets, { namespace, name });
        const encoded = data?.[field];
        const text = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
        return { text, version: metadata.resourceVersion };
      } catch (error) {
        if (isNotFound(error)) return { text: undefined, version: undefined };
        throw error;
      }
    },
    async write(text, version) {
      const secret: SecretObject = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name,
          namespace,
          labels: { 'app.kubernetes.io/managed-by': 'kidp' },
          ...(version === undefined ? {} : { resourceVersion: version }),
        },
        type: 'Opaque',
        data: { [field]: Buffer.from(text).toString('base64') },
      };
      try {
        if (version === undefined) await client.create(secrets, secret, { fieldManager: 'kidp-keys' });
        else await client.update(secrets, secret, { fieldManager: 'kidp-keys' });
        return 'written';
      } catch (error) {
        if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return 'conflict';
        throw error;
      }
    },
  };
}

const versionOf = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : createHash('sha256').update(text).digest('hex');
