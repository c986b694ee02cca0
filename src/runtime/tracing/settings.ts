/** The export settings: environment variables of the OpenTelemetry specification, overridden by flags. */
import { ConfigError } from '../errors.ts';
import type { Destination } from './exporter.ts';
import type { SpanAttributes } from './tracer.ts';

export interface TelemetrySettings {
  /** Undefined if traces are not exported. */
  readonly traces: Destination | undefined;
  readonly metrics: Destination | undefined;
  readonly metricsIntervalMilliseconds: number;
  /** A PEM file. */
  readonly certificateAuthority: string | undefined;
  readonly attributes: SpanAttributes;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** `telemetrySettings` is undefined if nothing is to be exported. `endpoint` takes precedence over OTEL_EXPORTER_OTLP_ENDPOINT. */
export function telemetrySettings(variables: Variables, endpoint?: string): TelemetrySettings | undefined {
  const of = (name: string): string | undefined => (variables[name] === '' ? undefined : variables[name]);
  if (of('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  const protocol = of('OTEL_EXPORTER_OTLP_PROTOCOL');
  const base = endpoint ?? of('OTEL_EXPORTER_OTLP_ENDPOINT');
  const destination = (signal: 'TRACES' | 'METRICS', path: string): Destination | undefined => {
    const own = of(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`);
    if (of(`OTEL_${signal}_EXPORTER`) === 'none' || (own === undefined && base === undefined)) return undefined;
    const url = own ?? `${base?.replace(/\/+$/, '')}${path}`;
    const headers = of(`OTEL_EXPORTER_OTLP_${signal}_HEADERS`) ?? of('OTEL_EXPORTER_OTLP_HEADERS');
    return {
      url: urlOf(url),
      headers: pairs(headers, 'OTEL_EXPORTER_OTLP_HEADERS'),
      timeoutMilliseconds: positive(of('OTEL_EXPORTER_OTLP_TIMEOUT'), 'OTEL_EXPORTER_OTLP_TIMEOUT', 10_000),
    };
  };
  const traces = destination('TRACES', '/v1/traces');
  const metrics = destination('METRICS', '/v1/metrics');
  if (traces === undefined && metrics === undefined) return undefined;
  if (protocol !== undefined && protocol !== 'http/json') {
    throw wrong(`OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}, and only http/json is spoken here`, 'Leave it out');
  }
  const named = of('OTEL_SERVICE_NAME');
  return {
    traces,
    metrics,
    metricsIntervalMilliseconds: positive(of('OTEL_METRIC_EXPORT_INTERVAL'), 'OTEL_METRIC_EXPORT_INTERVAL', 60_000),
    certificateAuthority: of('OTEL_EXPORTER_OTLP_CERTIFICATE'),
    attributes: {
      'service.name': 'kidp',
      ...pairs(of('OTEL_RESOURCE_ATTRIBUTES'), 'OTEL_RESOURCE_ATTRIBUTES'),
      ...(named === undefined ? {} : { 'service.name': named }),
    },
  };
}

const wrong = (message: string, hint: string): ConfigError => new ConfigError({ code: 'otlp', message, hint });

function urlOf(text: string): string {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw wrong(`"${text}" is no address of a collector`, 'Write http://HOST:4318 or https://HOST');
  }
  if (url.username !== '' || url.password !== '') {
    // Not quoted: it has a password in it.
    throw wrong('the address of the collector has a user in it', 'Put credentials into OTEL_EXPORTER_OTLP_HEADERS');
  }
  return url.href;
}

/** `key=value,key=value`, each part percent-encoded where it needs to be. Values are not quoted: they may be secret. */
function pairs(text: string | undefined, where: string): Readonly<Record<string, string>> {
  const entries = (text ?? '').split(',').flatMap((part): [string, string][] => {
    if (part.trim() === '') return [];
    const at = part.indexOf('=');
    if (at < 1) throw wrong(`${where} is no list of key=value`, 'Write key=value, with commas between');
    return [[decoded(part.slice(0, at), where), decoded(part.slice(at + 1), where)]];
  });
  return Object.fromEntries(entries);
}

function decoded(text: string, where: string): string {
  try {
    return decodeURIComponent(text.trim());
  } catch {
    throw wrong(`${where} has a % that stands for nothing`, 'Write %25 for a percent sign');
  }
}

function positive(text: string | undefined, where: string, otherwise: number): number {
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number <= 2 ** 31 - 1) return number;
  throw wrong(`${where} is "${text}"`, 'Write a number of milliseconds');
}
