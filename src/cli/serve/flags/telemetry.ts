/** The flag of `serve` for sending traces and metrics to a collector: docs/observability.md. */
import type { Command } from 'commander';

export interface TelemetryFlags {
  otlpEndpoint?: string;
}

export function declareTelemetry(command: Command): Command {
  return command.option(
    '--otlp-endpoint <url>',
    'Send traces and metrics to this endpoint, OTLP over HTTP (default: $OTEL_EXPORTER_OTLP_ENDPOINT)',
  );
}
