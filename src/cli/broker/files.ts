/** What a broker is given as files: keys of the platform, certificates that are replaced while it runs, prices. */
import { readFileSync } from 'node:fs';
import type { KafkaTls, KeySetAddress, PriceTable, ServingCertificate } from '../../broker/index.ts';
import { parseYaml } from '../../runtime/internal.ts';
import { InputError } from '../common/failure.ts';
import type { BrokerFlags, KafkaFlags } from './options.ts';

export function readText(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new InputError('file', `${what}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

export function readFields(file: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseYaml(readText(file, what));
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError('file', `${what}: ${file} is neither YAML nor JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new InputError('file', `${what}: ${file} must hold an object.`);
}

/** The keys behind a URL, fetched again when they rotate, or in a file, read each time. */
export function platformKeys({ platformKeys: from, platformCa }: BrokerFlags): KeySetAddress | (() => object) {
  if (/^https?:\/\//.test(from)) {
    return { url: from, ...(platformCa === undefined ? {} : { caBundle: readText(platformCa, '--platform-ca') }) };
  }
  readFields(from, '--platform-keys');
  return () => readFields(from, '--platform-keys');
}

export function kafkaTls({ kafkaCa, kafkaCert, kafkaKey }: KafkaFlags): (() => KafkaTls) | undefined {
  if (kafkaCa === undefined && kafkaCert === undefined && kafkaKey === undefined) return undefined;
  if (kafkaCa === undefined || kafkaCert === undefined || kafkaKey === undefined) {
    throw new InputError('kafka-tls', 'set --kafka-ca, --kafka-cert and --kafka-key together, or none of them.');
  }
  return () => ({
    ca: readText(kafkaCa, '--kafka-ca'),
    cert: readText(kafkaCert, '--kafka-cert'),
    key: readText(kafkaKey, '--kafka-key'),
  });
}

const lookAgainMilliseconds = 30_000;

export function servingCertificate({ tlsCert, tlsKey }: BrokerFlags): ServingCertificate | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new InputError('tls', 'set --tls-cert and --tls-key together, or neither.');
  }
  const read = () => ({ certificate: readText(tlsCert, '--tls-cert'), key: readText(tlsKey, '--tls-key') });
  let current = read();
  return {
    current: () => current,
    subscribe(changed) {
      const timer = setInterval(() => {
        try {
          const next = read();
          if (next.certificate === current.certificate && next.key === current.key) return;
          current = next;
          changed();
        } catch {
          // Half written, or gone for a moment: the last one goes on.
        }
      }, lookAgainMilliseconds);
      timer.unref();
      return () => clearInterval(timer);
    },
  } as ServingCertificate;
}

export function priceTable(file: string | undefined): PriceTable | undefined {
  if (file === undefined) return undefined;
  const { currency, perHour } = readFields(file, '--prices');
  const isTable =
    typeof perHour === 'object' &&
    perHour !== null &&
    Object.values(perHour).every(
      (of) =>
        typeof of === 'object' &&
        of !== null &&
        Object.values(of).every((price) => typeof price === 'number' && price >= 0),
    );
  if (typeof currency === 'string' && /^[A-Z]{3}$/.test(currency) && isTable) {
    return { currency, perHour: perHour as PriceTable['perHour'] };
  }
  throw new InputError(
    'prices',
    `--prices: ${file} must be like {currency: EUR, perHour: {Database: {small: 0.05, default: 0.1}}}.`,
  );
}
