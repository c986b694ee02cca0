/** The log of a replica: one line of JSON per entry on standard output, with the field names of requirement 002. */
import { destination, pino, stdSerializers } from 'pino';
import { type Logger, pinoLogger } from '../../runtime/index.ts';
import { currentTraceId, escapeUnsafe } from '../../runtime/internal.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

const levels: Readonly<Record<string, string>> = { debug: 'DEBUG', info: 'INFO', warn: 'WARNING', error: 'ERROR' };

/** `logOnStandardOutput` writes synchronously, so that the entries before an exit are not lost. */
export const logOnStandardOutput = (level: LogLevel): Logger => logTo(destination({ fd: 1, sync: true }), level);

export function logTo(stream: { write(line: string): unknown }, level: LogLevel): Logger {
  const options = {
    level,
    // Without pid and hostname: in a cluster, the log collector adds pod and node.
    messageKey: 'message',
    timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: levels[label] ?? label }) },
    serializers: { error: stdSerializers.err },
    // Entries inside a span carry its trace; an explicit traceId, such as that of a rollout, takes precedence.
    mixin() {
      const traceId = currentTraceId();
      return traceId === undefined ? {} : { traceId };
    },
  };
  // JSON escapes control characters up to U+001F only.
  return pinoLogger(pino(options, { write: (line) => void stream.write(escapeUnsafe(line)) }));
}
