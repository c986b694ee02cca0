/** The log of a replica: a line of JSON for each entry, on standard output, by the names of requirement 002. */
import { destination, pino, stdSerializers } from 'pino';
import { type Logger, pinoLogger } from '../../runtime/index.ts';
import { currentTraceId } from '../../runtime/internal.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const levels: Readonly<Record<string, string>> = { debug: 'DEBUG', info: 'INFO', warn: 'WARNING', error: 'ERROR' };

/** Written at once: the last words before an end are those that matter. */
export const logOnStandardOutput = (level: LogLevel): Logger => logTo(destination({ fd: 1, sync: true }), level);

export function logTo(stream: { write(line: string): unknown }, level: LogLevel): Logger {
  const options = {
    level,
    // Who and where is told by the cluster; a process id and a host name say nothing there.
    messageKey: 'message',
    timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: levels[label] ?? label }) },
    serializers: { error: stdSerializers.err },
    // What is done for a rollout says so itself; of the rest, what a span is around belongs to its trace.
    mixin() {
      const traceId = currentTraceId();
      return traceId === undefined ? {} : { traceId };
    },
  };
  return pinoLogger(pino(options, stream));
}
