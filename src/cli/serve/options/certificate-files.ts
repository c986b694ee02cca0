/** Certificates that somebody else keeps in a directory, as a mounted Secret is: read anew when they change. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KafkaTls, ServingCertificate } from '../../../broker/index.ts';
import type { Logger } from '../../../runtime/index.ts';
import { InputError } from '../../common/failure.ts';

/** A mounted Secret is swapped as a whole; looking is cheap. */
const lookMilliseconds = 10_000;

/** For a client of Kafka: looked at for each new connection. */
export function kafkaFiles(directory: string): () => KafkaTls {
  const read = (): KafkaTls => ({
    ca: fileIn(directory, 'ca.crt'),
    cert: fileIn(directory, 'tls.crt'),
    key: fileIn(directory, 'tls.key'),
  });
  read();
  return read;
}

/** For a server: those who subscribe hear of a change within ten seconds. What cannot be read leaves the last ones in use. */
export function certificateFiles(directory: string, log: Logger): ServingCertificate {
  const read = () => ({ certificate: fileIn(directory, 'tls.crt'), key: fileIn(directory, 'tls.key') });
  let pair = read();
  const listeners = new Set<() => void>();
  const look = () => {
    try {
      const next = read();
      if (next.certificate === pair.certificate && next.key === pair.key) return;
      pair = next;
      for (const listener of listeners) listener();
    } catch (error) {
      log.warn('the certificate of the status API cannot be read, going on with the last one', { directory, error });
    }
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    current: () => pair,
    subscribe(listener) {
      listeners.add(listener);
      timer ??= setInterval(look, lookMilliseconds).unref();
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
      `${join(directory, name)} cannot be read (${(error as Error).message}): the directory must hold it, in PEM form.`,
    );
  }
}
