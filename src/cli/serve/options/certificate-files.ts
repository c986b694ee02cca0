/** Certificates in a directory, such as a mounted Secret: reloaded when they change. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KafkaTls, ServingCertificate } from '../../../broker/index.ts';
import type { CertificateSource, Logger } from '../../../runtime/index.ts';
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
export const certificateFiles = (directory: string, log: Logger): ServingCertificate =>
  reloaded(
    () => ({ certificate: fileIn(directory, 'tls.crt'), key: fileIn(directory, 'tls.key') }),
    (pair, next) => next.certificate === pair.certificate && next.key === pair.key,
    (error) => log.warn('reloading the certificate failed; keeping the last one', { directory, error }),
  );

/**
 * `webhookCertificate` serves the webhook with the certificate in a directory that also has the CA certificates which verify it. Replicas
 * see a new certificate at different times, so CA certificates that were read before stay in the bundle until they expire.
 */
export function webhookCertificate(directory: string, log: Logger): CertificateSource {
  const authorities = new Map<string, X509Certificate>();
  const source = reloaded(
    () => {
      const pair = { certificate: fileIn(directory, 'tls.crt'), key: fileIn(directory, 'tls.key') };
      const ca = fileIn(directory, 'ca.crt');
      const read = certificatesIn(ca).map((pem) => new X509Certificate(pem));
      if (read.length === 0) throw noAuthority(directory);
      for (const each of read) authorities.set(each.fingerprint256, each);
      // Throws for a file that holds no certificate.
      return { ...pair, ca, generation: Date.parse(new X509Certificate(pair.certificate).validFrom) };
    },
    (one, next) => next.certificate === one.certificate && next.key === one.key && next.ca === one.ca,
    (error) => log.warn('reloading the certificate of the webhook failed; keeping the last one', { directory, error }),
  );
  return {
    current: () => source.current(),
    subscribe: (listener) => source.subscribe(listener),
    bundle() {
      const { ca, generation } = source.current();
      const now = Date.now();
      const own = certificatesIn(ca);
      const earlier = [...authorities.values()].filter(
        (each) => Date.parse(each.validTo) > now && !own.some((pem) => new X509Certificate(pem).raw.equals(each.raw)),
      );
      return { pem: [...own, ...earlier.map(String)].map((pem) => `${pem.trim()}\n`).join(''), generation };
    },
  };
}

/** `authorityFile` returns the CA certificates in a directory, if it has any: those of a public CA need not be published. */
export function authorityFile(directory: string): string | undefined {
  try {
    return fileIn(directory, 'ca.crt');
  } catch {
    return undefined;
  }
}

const certificatesIn = (pem: string): readonly string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

const noAuthority = (directory: string): InputError =>
  new InputError(
    'certificate',
    `${join(directory, 'ca.crt')} holds no certificate: it must contain the CA certificates that verify tls.crt, in PEM form.`,
  );

/** Reads a value again every ten seconds while somebody has subscribed. A value that cannot be read keeps the last one in use. */
function reloaded<T>(read: () => T, isSame: (one: T, next: T) => boolean, failed: (error: unknown) => void) {
  let value = read();
  const listeners = new Set<() => void>();
  const poll = () => {
    try {
      const next = read();
      if (isSame(value, next)) return;
      value = next;
      for (const listener of listeners) listener();
    } catch (error) {
      failed(error);
    }
  };
  let timer: NodeJS.Timeout | undefined;
  return {
    current: () => value,
    subscribe(listener: () => void) {
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
