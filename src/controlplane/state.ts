/** The state that a control plane (or a Kafka) keeps for its next start: CAs, keys and ports. */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ControlPlaneError } from './errors.ts';
import type { MemberPorts } from './etcd.ts';
import { createAuthority, createSigningKeys, type KeyKind, type KeyPair } from './pki.ts';

export interface ControlPlaneState {
  /** The CA of users. Clients and servers have separate CAs, so that either can be replaced alone. */
  clientAuthority: KeyPair;
  servingAuthority: KeyPair;
  etcdAuthority: KeyPair;
  frontProxyAuthority: KeyPair;
  /** The CA of the certificate with which the API server calls webhooks. A state of an earlier version has none. */
  webhookAuthority?: KeyPair;
  serviceAccount: { privateKey: string; publicKey: string };
  /** The base64 of the 32-byte key for encryption at rest. */
  encryptionKey: string;
  apiServerPort?: number;
  etcdPorts?: readonly MemberPorts[];
}

/** `keys` is the kind of the keys of the API server and its users. */
export function newState(keys: KeyKind = 'ec'): ControlPlaneState {
  return {
    clientAuthority: createAuthority('kidp-clients', keys),
    servingAuthority: createAuthority('kidp-servers', keys),
    etcdAuthority: createAuthority('kidp-etcd'),
    frontProxyAuthority: createAuthority('kidp-front-proxy'),
    serviceAccount: createSigningKeys(),
    encryptionKey: randomBytes(32).toString('base64'),
  };
}

export async function loadState<State = ControlPlaneState>(directory: string): Promise<State | undefined> {
  const file = join(directory, 'state.json');
  try {
    return JSON.parse(await readFile(file, 'utf8')) as State;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ControlPlaneError({
      code: 'state/unusable',
      message: `${file} cannot be read: ${(cause as Error).message}`,
      hint: 'Restore the file, or remove the directory to start over.',
      cause,
    });
  }
}

/** Writes to a temporary file and renames it, so that a crash leaves the old state or the new one. */
export async function saveState(directory: string, state: object): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, 'state.json');
  await writeFile(`${file}.new`, JSON.stringify(state, null, 2), { mode: 0o600 });
  await rename(`${file}.new`, file);
}
