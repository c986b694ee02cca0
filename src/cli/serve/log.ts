/** The log of a replica: a line of JSON for each entry, on standard output. */
import { destination, pino, stdSerializers, stdTimeFunctions } from 'pino';
import { type Logger, pinoLogger } from '../../runtime/index.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Written at once: the last words before an end are those that matter. */
export function logOnStandardOutput(level: LogLevel): Logger {
  const options = {
    level,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: stdSerializers.err },
  };
  return pinoLogger(pino(options, destination({ fd: 1, sync: true })));
}
