/** Certificates in a directory, such as a mounted Secret: reloaded when they change. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KafkaTls, ServingCertificate } from '../../../broker/index.ts';
import type { Logger } from '../../../runtime/index.ts';
import { InputError } from '../../common/failure.ts';

/** The kubelet replaces a mounted Secret as a whole, and reading the files is cheap. */
const pollMilliseconds = 10_000;

/** `kafkaFiles` serves a Kafka client, which reads them for each new connection. */
export function kafkaFiles(directory: string): () => KafkaTls {
  const read = (): KafkaTls => ({
    ca: fileIn(directory, 'ca.crt'),
    cert: fileIn(directory, 'tls.crt'),
    key: fileIn(directory, 'tls.key'),
  });
  read();
  return read;
}

/** `certificateFiles` serves a server, and notifies subscribers of a change within ten seconds. Unreadable files keep the last pair in use. */
export function certificateFiles(directory: string, log: Logger): ServingCertificate {
  const read = () => ({ certificate: fileIn(directory, 'tls.crt'), key: fileIn(directory, 'tls.key') });
  let pair = read();
  const listeners = new Set<() => void>();
  const poll = () => {
    try {
      const next = read();
      if (next.certificate === pair.certificate && next.key === pair.key) return;
      pair = next;
      for (const listener of listeners) listener();
    } catch (error) {
      log.warn('reloading the certificate failed; keeping the last one', { directory, error });
    }
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    current: () => pair,
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

function fileIn(directory: string, name: string): string {
  try {
    return readFileSync(join(directory, name), 'utf8');
  } catch (error) {
    throw new InputError(
      'certificate',
      `cannot read ${join(directory, name)} (${(error as Error).message}): the directory must contain it in PEM form.`,
    );
  }
}
