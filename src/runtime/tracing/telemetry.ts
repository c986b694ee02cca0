/** Telemetry of one process: a tracer, spans exported in batches, metrics exported periodically, and a final export on shutdown. */
import { Counter, type Registry } from 'prom-client';
import { type Clock, sleep, systemClock } from '../clock.ts';
import { type Logger, silentLogger } from '../telemetry/logger.ts';
import { type ExportOutcomes, OtlpSender, readAuthority, type Signal } from './exporter.ts';
import { metricsRequest } from './otlp-metrics.ts';
import { type EndedSpan, traceRequest } from './otlp-spans.ts';
import { recordingTracer } from './recorder.ts';
import type { TelemetrySettings } from './settings.ts';
import { noTracer, type Tracer } from './tracer.ts';

export { type TelemetrySettings, telemetrySettings } from './settings.ts';

export interface TelemetryOptions {
  readonly settings: TelemetrySettings;
  /** The registry whose metrics are exported, and which counts exported and dropped items. */
  readonly registry: Registry;
  readonly clock?: Clock;
  readonly log?: Logger;
  /** The limit of queued spans. */
  readonly queueLimit?: number;
  readonly batchSize?: number;
  /** The time a span waits for others to fill a batch. */
  readonly batchMilliseconds?: number;
  readonly retryMilliseconds?: number;
}

export interface Telemetry {
  readonly tracer: Tracer;
  /** Exports everything recorded so far. */
  flush(): Promise<void>;
  /** Exports everything recorded so far, with one attempt, and stops. */
  stop(): Promise<void>;
}

/** The time limit of the final export. */
const patienceMilliseconds = 5_000;

/**
 * `startTelemetry` exports spans and metrics over OTLP until it is stopped.
 *
 * @example
 * import { startTelemetry, telemetrySettings } from 'kidp/runtime';
 * import { Registry } from 'prom-client';
 *
 * const settings = telemetrySettings(process.env, 'http://localhost:4318');
 * if (settings !== undefined) {
 *   const telemetry = startTelemetry({ settings, registry: new Registry() });
 *   await telemetry.tracer.span('work', {}, async () => console.log('working'));
 *   await telemetry.stop();
 * }
 */
export function startTelemetry(options: TelemetryOptions): Telemetry {
  const { settings, registry, clock = systemClock, log = silentLogger } = options;
  const { queueLimit = 4_096, batchSize = 512, batchMilliseconds = 2_000 } = options;
  const outcomes = outcomesIn(registry);
  const { certificateAuthority: file } = settings;
  const sender = new OtlpSender({
    clock,
    log,
    outcomes,
    certificateAuthority: file === undefined ? undefined : readAuthority(file),
    retryMilliseconds: options.retryMilliseconds,
  });
  const since = clock.now();
  const stopping = new AbortController();
  const resource = { attributes: settings.attributes };
  const queue: EndedSpan[] = [];
  let wake = () => {};
  let sending: Promise<void> = Promise.resolve();

  const sendSpans = (): Promise<void> => {
    // One batch after the other, so that a collector that is slow is not asked by many.
    sending = sending.then(async () => {
      for (let batch = queue.splice(0, batchSize); batch.length > 0; batch = queue.splice(0, batchSize)) {
        if (settings.traces !== undefined) {
          await sender.send('traces', settings.traces, traceRequest(batch, resource), batch.length);
        }
      }
    });
    return sending;
  };
  const sendMetrics = async (): Promise<void> => {
    if (settings.metrics === undefined) return;
    const body = await metricsRequest(registry, resource, { since, now: clock.now() });
    const items = body.resourceMetrics[0]?.scopeMetrics[0]?.metrics.length ?? 0;
    await sender.send('metrics', settings.metrics, body, items);
  };

  const tracer =
    settings.traces === undefined
      ? noTracer
      : recordingTracer(clock, (span) => {
          if (queue.length >= queueLimit) {
            outcomes.dropped('traces', 1, 'queue-full');
            return;
          }
          queue.push(span);
          if (queue.length === 1 || queue.length >= batchSize) wake();
        });

  const followSpans = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      if (queue.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (queue.length < batchSize && !stopping.signal.aborted) await pause(batchMilliseconds);
      if (!stopping.signal.aborted) await sendSpans();
    }
  };
  /** Resolves after the given time, when a batch is full, or on stop. */
  const pause = (milliseconds: number): Promise<void> => {
    const woken = new AbortController();
    wake = () => woken.abort();
    return sleep(clock, milliseconds, woken.signal);
  };
  const followMetrics = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      await sleep(clock, settings.metricsIntervalMilliseconds, stopping.signal);
      if (!stopping.signal.aborted) await sendMetrics().catch((error: unknown) => complain('metrics', error));
    }
  };
  const complain = (signal: Signal, error: unknown): void => log.warn('telemetry export failed', { signal, error });
  const following = Promise.all([followSpans().catch((error: unknown) => complain('traces', error)), followMetrics()]);

  const flush = async (): Promise<void> => {
    await sendSpans();
    await sendMetrics();
  };
  return {
    tracer,
    flush,
    async stop() {
      sender.hurry(patienceMilliseconds);
      stopping.abort();
      wake();
      await following;
      await flush().catch((error: unknown) => complain('traces', error));
      await sender.close();
    },
  };
}

function outcomesIn(registry: Registry): ExportOutcomes {
  const registers = [registry];
  const sent = new Counter({
    name: 'kidp_telemetry_sent_total',
    help: 'Spans and metrics accepted by the collector',
    labelNames: ['signal'],
    registers,
  });
  const dropped = new Counter({
    name: 'kidp_telemetry_dropped_total',
    help: 'Spans and metrics dropped before they reached a collector, by reason',
    labelNames: ['signal', 'reason'],
    registers,
  });
  return {
    sent: (signal, items) => sent.inc({ signal }, items),
    dropped: (signal, items, reason) => dropped.inc({ signal, reason }, items),
  };
}
