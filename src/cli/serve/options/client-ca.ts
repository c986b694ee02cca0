/** The CA of the API server's client certificate, in a file such as a mounted ConfigMap: reloaded when it changes. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Logger } from '../../../runtime/index.ts';
import type { ClientAuthority } from '../../../runtime/internal.ts';
import { InputError } from '../../common/failure.ts';

export interface ClientFlags {
  clientCa?: string;
  clientName?: string[];
}

/** The kubelet replaces a mounted file, and reading it is cheap. */
const pollMilliseconds = 10_000;

/** `clientAuthority` returns undefined without --client-ca. A file that becomes unreadable keeps the last CAs in use. */
export function clientAuthority(
  { clientCa: file, clientName: names }: ClientFlags,
  log: Logger,
): ClientAuthority | undefined {
  if (file === undefined) {
    if (names === undefined) return undefined;
    throw new InputError('client-name', '--client-name requires --client-ca FILE, the CA of these names.');
  }
  let ca = certificatesIn(file);
  const listeners = new Set<() => void>();
  const poll = () => {
    try {
      const next = certificatesIn(file);
      if (next === ca) return;
      ca = next;
      for (const listener of listeners) listener();
    } catch (error) {
      log.warn('reloading the client CA failed; keeping the last one', { file, error });
    }
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    current: () => ({ ca, names }),
    subscribe(listener) {
      listeners.add(listener);
      timer ??= setInterval(poll, pollMilliseconds).unref();
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

function certificatesIn(file: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    // Throws for a file that holds no certificate, which would accept nobody.
    new X509Certificate(text);
    return text;
  } catch (error) {
    throw new InputError(
      'client-ca',
      `cannot read --client-ca ${file} (${(error as Error).message}): want CA certificates in PEM form.`,
    );
  }
}
