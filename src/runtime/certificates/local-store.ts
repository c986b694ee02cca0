/**
 * Stores certificates without a cluster: in memory, or in a directory, so that clients still trust the bundle after a
 * restart.
 */
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeKeys, decodeMaterial, encodeKeys, encodeMaterial, type Fields } from './encoding.ts';
import type { KeyPair } from './issue.ts';
import type { CertificateStore, Material, ReplicaReport, Versioned, WriteResult } from './store.ts';

/** `memoryStore` keeps certificates in memory. Any number of replicas in one process can share it. */
export function memoryStore(): CertificateStore {
  const documents = new Map<string, Fields>();
  return documentStore({
    read: async (name) => documents.get(name),
    write: async (name, fields) => void documents.set(name, fields),
  });
}

/**
 * `directoryStore` keeps certificates in `serving.json`, `authorities.json` and `ca.crt` of a directory, for one
 * process at a time. Only their owner can read the keys.
 */
export function directoryStore(directory: string): CertificateStore {
  const pathOf = (name: string) => join(directory, `${name}.json`);
  return documentStore({
    async read(name) {
      const text = await readFile(pathOf(name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      });
      return text === undefined ? undefined : parseFields(text);
    },
    async write(name, fields) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await replaceFile(pathOf(name), JSON.stringify(fields, null, 2), 0o600);
      // For `curl --cacert` and similar tools. The document above is authoritative.
      if (fields['ca.crt'] !== undefined) await replaceFile(join(directory, 'ca.crt'), fields['ca.crt'], 0o644);
    },
  });
}

interface Documents {
  read(name: string): Promise<Fields | undefined>;
  write(name: string, fields: Fields): Promise<void>;
}

function documentStore(documents: Documents): CertificateStore {
  const reports = new Map<string, ReplicaReport>();
  let beat = 0;

  async function read<T>(name: string, decode: (fields: Fields) => T): Promise<Versioned<T>> {
    const fields = await documents.read(name);
    if (fields === undefined) return { value: undefined, version: undefined };
    const version = versionOf(fields);
    try {
      return { value: decode(fields), version };
    } catch (error) {
      return { value: undefined, version, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  async function write(name: string, fields: Fields, version: string | undefined): Promise<WriteResult> {
    const present = await documents.read(name);
    if ((present === undefined ? undefined : versionOf(present)) !== version) return 'conflict';
    await documents.write(name, fields);
    return 'written';
  }

  return {
    readMaterial: () => read('serving', decodeMaterial),
    writeMaterial: (material: Material, version) => write('serving', encodeMaterial(material), version),
    readKeys: () => read('authorities', decodeKeys),
    writeKeys: (keys: readonly KeyPair[], version) => write('authorities', encodeKeys(keys), version),
    async report(identity, serves) {
      beat += 1;
      reports.set(identity, { identity, serves, beat: String(beat) });
    },
    readReports: async () => [...reports.values()],
    removeReport: async (identity) => void reports.delete(identity),
  };
}

const versionOf = (fields: Fields): string => createHash('sha256').update(JSON.stringify(fields)).digest('hex');

/** A file that does not parse yields no fields; the caller reports the missing ones. */
function parseFields(text: string): Fields {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return {};
    return Object.fromEntries(
      Object.entries(parsed).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    return {};
  }
}

async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  await writeFile(temporary, text, { mode });
  await rename(temporary, path);
}
