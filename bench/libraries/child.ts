/** One measured process: loads one variant, uses it, and sends its figures to the parent. */
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export interface Figures {
  readonly loadMilliseconds: number;
  readonly loadBytes: number;
  /** Microseconds of CPU per exported span, or milliseconds per issued leaf. */
  readonly perItem: number;
}

const [variant = '', directory = '', dist = ''] = process.argv.slice(2);
const batch = 512;
const batches = 60;
const leaves = 200;

const cpuMicroseconds = (): number => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

// biome-ignore lint/suspicious/noExplicitAny: the peers are not dependencies, so their types are not installed.
type Loaded = any;
const load = (name: string): Loaded => createRequire(join(directory, 'package.json'))(name);

async function loadVariant(): Promise<readonly [() => Promise<number>, Omit<Figures, 'perItem'>]> {
  // These are loaded in every process of ours that could use the variant.
  await import(join(dist, 'runtime', 'clock.js'));
  await Promise.all([import('undici'), import('prom-client')]);
  globalThis.gc?.();
  const [bytes, start] = [process.memoryUsage().rss, performance.now()];
  const using = await loaders[variant]?.();
  if (using === undefined) throw new Error(`no variant ${variant}`);
  const loadMilliseconds = performance.now() - start;
  globalThis.gc?.();
  return [using, { loadMilliseconds, loadBytes: process.memoryUsage().rss - bytes }];
}

const loaders: Record<string, () => Promise<() => Promise<number>>> = {
  async 'otlp-ours'() {
    const { startTelemetry } = await import(join(dist, 'runtime', 'tracing', 'index.js'));
    const { Registry } = await import('prom-client');
    return () =>
      perSpan((url) => {
        const settings = {
          traces: { url: `${url}/v1/traces`, headers: {}, timeoutMilliseconds: 10_000 },
          metrics: undefined,
          metricsIntervalMilliseconds: 60_000,
          certificateAuthority: undefined,
          attributes: { 'service.name': 'kidp' },
        };
        const telemetry = startTelemetry({ settings, registry: new Registry() });
        return {
          span: (attributes) => telemetry.tracer.span('reconcile', { attributes }, async () => {}),
          flush: () => telemetry.flush(),
          stop: () => telemetry.stop(),
        };
      });
  },
  async 'otlp-sdk'() {
    const { BatchSpanProcessor, TracerProvider } = load('@opentelemetry/sdk-trace');
    const { OTLPTraceExporter } = load('@opentelemetry/exporter-trace-otlp-http');
    const { resourceFromAttributes } = load('@opentelemetry/resources');
    load('@opentelemetry/sdk-metrics');
    load('@opentelemetry/exporter-metrics-otlp-http');
    return () =>
      perSpan((url) => {
        const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces` });
        const provider = new TracerProvider({
          resource: resourceFromAttributes({ 'service.name': 'kidp' }),
          spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize: 4096, maxExportBatchSize: batch })],
        });
        const tracer = provider.getTracer('kidp');
        return {
          span: async (attributes) => tracer.startSpan('reconcile', { attributes }).end(),
          flush: () => provider.forceFlush(),
          stop: () => provider.shutdown(),
        };
      });
  },
  async 'x509-asn1'() {
    const { issueAuthority, issueLeaf } = await import(join(dist, 'runtime', 'certificates', 'issue.js'));
    const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 0 };
    const authority = issueAuthority(validity);
    return async () => perLeaf(async () => issueLeaf(authority, { ...validity, names: ['localhost'] }));
  },
  async 'x509-peculiar'() {
    load('reflect-metadata');
    const x509 = load('@peculiar/x509');
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const newKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    const dates = { notBefore: new Date(), notAfter: new Date(Date.now() + 3_600_000) };
    const keys = await newKeys();
    const authority = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=kidp',
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
      ...dates,
    });
    return () =>
      perLeaf(async () => {
        const { publicKey } = await newKeys();
        const { X509CertificateGenerator, SubjectAlternativeNameExtension } = x509;
        await X509CertificateGenerator.create({
          subject: 'CN=kidp',
          issuer: authority.subject,
          publicKey,
          signingKey: keys.privateKey,
          signingAlgorithm: algorithm,
          extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: 'localhost' }])],
          ...dates,
        });
      });
  },
};

interface Traced {
  span(attributes: Record<string, string | number>): Promise<void>;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** CPU of recording and exporting, without that of an empty loop against the same collector. */
async function perSpan(start: (url: string) => Traced): Promise<number> {
  let received = 0;
  const collector = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => {
      received += chunk.length;
    });
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const traced = start(`http://127.0.0.1:${(collector.address() as AddressInfo).port}`);
  const round = async () => {
    for (let at = 0; at < batch; at += 1)
      await traced.span({ controller: 'databases', object: `team/db-${at}`, attempt: at });
    await traced.flush();
  };
  for (let at = 0; at < 10; at += 1) await round();
  const before = cpuMicroseconds();
  for (let at = 0; at < batches; at += 1) await round();
  const used = cpuMicroseconds() - before;
  if (received === 0) throw new Error('the collector received nothing');
  await traced.stop();
  collector.close();
  return used / (batch * batches);
}

async function perLeaf(issue: () => Promise<unknown>): Promise<number> {
  for (let at = 0; at < 20; at += 1) await issue();
  const before = cpuMicroseconds();
  for (let at = 0; at < leaves; at += 1) await issue();
  return (cpuMicroseconds() - before) / leaves / 1000;
}

const [use, loaded] = await loadVariant();
process.send?.({ ...loaded, perItem: await use() } satisfies Figures);
process.disconnect?.();
