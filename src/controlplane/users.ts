/** The kubeconfig files of a control plane, which follow its CA. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kubeconfig } from './kubeconfig.ts';
import { issueLeaf } from './pki.ts';
import type { ControlPlaneState } from './state.ts';

export interface User {
  name: string;
  groups?: readonly string[];
  /** The validity of the certificate; the default is one year. */
  validDays?: number;
}

export interface UserFiles {
  /** Writes the user's kubeconfig and returns its path. */
  kubeconfigFor(user: User): Promise<string>;
  /** Writes all of them again, for a new CA. */
  rewrite(): Promise<void>;
}

export function userFiles(directory: string, state: ControlPlaneState, server: () => string): UserFiles {
  const handedOut = new Map<string, User>();

  async function write(file: string, user: User): Promise<void> {
    const { name, groups = [], validDays } = user;
    const credentials = issueLeaf(state.clientAuthority, {
      commonName: name,
      organizations: groups,
      ...(validDays === undefined ? {} : { validDays }),
    });
    const authority = state.servingAuthority.certificate;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(file, kubeconfig({ server: server(), authority, user: user.name, credentials }), { mode: 0o600 });
  }

  return {
    async kubeconfigFor(user) {
      const file = join(directory, `${fileNameOf(user)}.yaml`);
      handedOut.set(file, user);
      await write(file, user);
      return file;
    },
    async rewrite() {
      for (const [file, user] of handedOut) await write(file, user);
    },
  };
}

function fileNameOf(user: User): string {
  return [user.name, ...(user.groups ?? [])].map((part) => part.replace(/[^a-zA-Z0-9.-]/g, '_')).join('+');
}
