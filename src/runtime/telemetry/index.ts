/**
 * Logs and metrics of the runtime.
 *
 * In: a pino logger, a prom-client registry. Out: structured log lines and metric samples. It must not know where they are sent.
 */
export { type LogFields, type Logger, pinoLogger, silentLogger } from './logger.ts';
export { processMetrics } from './metrics.ts';
