/** The flag of `serve` for traces and metrics that are sent to a collector: docs/observability.md. */
import type { Command } from 'commander';

export interface TelemetryFlags {
  otlpEndpoint?: string;
}

export function declareTelemetry(command: Command): Command {
  return command.option(
    '--otlp-endpoint <url>',
    'send traces and metrics there, as OTLP over HTTP (default: $OTEL_EXPORTER_OTLP_ENDPOINT)',
  );
}
