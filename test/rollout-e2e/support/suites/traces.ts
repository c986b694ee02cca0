/**
 * Exported traces: each rollout is one trace, nested like in docs/requirements.md, 002, and continues in the API
 * servers.
 */
import { expect, test } from 'vitest';
import { type OperatorDeployment, operatorDeployment } from '../../../../src/api/index.ts';
import { parseTraceparent } from '../../../../src/runtime/internal.ts';
import { eventually } from '../../../../src/runtime/testing/index.ts';
import type { Collector } from '../../../support/otlp-collector.ts';
import type { Show } from '../suite-context.ts';
import { asked } from './rest.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes?: readonly { readonly key: string; readonly value: { readonly stringValue?: string } }[];
}

const healthchecks = ['pod.healthcheck', 'webhook.healthcheck', 'crd.reconciliation.check'];
/** Shorter than a test may take, so that what is missing is said. */
const patience = { within: 180_000, every: 500 };
const clusters = ['dev', 'production', 'staging'];

export function traceTests(show: () => Show): void {
  test('a completed rollout is one trace: plan, then connect, validate, install and check on each cluster', () =>
    withTrace(show(), 'direct-1', ({ root, spans, under }) => {
      expect(attributesOf(root)).toMatchObject({ 'operator.name': 'direct', 'deployment.strategy': 'Direct' });
      const on = (found: readonly Span[]) => [...new Set(found.map((span) => attributesOf(span)['cluster.name']))];
      for (const name of ['cluster.connect', 'operator.validate'])
        expect(on(under(root, name)), name).toEqual(expect.arrayContaining(clusters));
      const whole = (name: string, parts: readonly string[]) =>
        under(root, name).filter((span) => parts.every((part) => under(span, part).length > 0));
      expect(on(whole('helm.install', ['crd.apply', 'controller.deploy'])).sort()).toEqual(clusters);
      expect(on(whole('operator.healthcheck', healthchecks)).sort()).toEqual(clusters);
      expect(spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toEqual([root]);
      const known = new Set(spans.map(({ spanId }) => spanId));
      expect(spans.filter(({ parentSpanId = root.spanId }) => !known.has(parentSpanId))).toEqual([]);
    }));

  test('a failed rollout has a rollback span for each cluster', () =>
    withTrace(show(), 'rolling-2', ({ root, under }) => {
      const back = under(root, 'operator.rollback');
      expect(back.map(attributesOf)).toContainEqual(
        expect.objectContaining({ 'cluster.name': 'dev', 'operator.version': '2.0.0' }),
      );
      expect(back.flatMap((span) => under(span, 'helm.install')).map(attributesOf)).toContainEqual(
        expect.objectContaining({ 'cluster.name': 'dev', 'operator.version': '1.0.0' }),
      );
    }));

  test('a rollout over the REST API is part of the trace of its caller', () =>
    withTrace(show(), asked.name, ({ root, spans, under }) => {
      const caller = parseTraceparent(asked.traceparent);
      expect(root.traceId).toBe(caller?.traceId);
      const request = spans.find(({ spanId }) => spanId === root.parentSpanId);
      expect(request).toMatchObject({ name: 'POST /api/v1/deployments', parentSpanId: caller?.parentId });
      expect(under(root, 'helm.install').map(attributesOf)).toMatchObject([{ 'cluster.name': 'dev' }]);
    }));

  test('requests to the API server of a cluster carry the trace context', () =>
    withTrace(show(), 'distant-1', ({ spans }) => {
      const asking = (method: string, part: string): string[] => {
        const found = show().far.seen.filter((each) => each.method === method && each.path.includes(part));
        return found.flatMap(({ traceparent }) => {
          const { traceId, parentId } = parseTraceparent(traceparent) ?? {};
          return spans.filter((span) => span.traceId === traceId && span.spanId === parentId).map(({ name }) => name);
        });
      };
      expect(asking('PATCH', '/customresourcedefinitions/widgets.distant.example.com')).toContain('crd.apply');
      expect(asking('GET', '/customresourcedefinitions/widgets.distant.example.com')).toContain('operator.validate');
      expect(asking('GET', '/namespaces/distant-system/pods')).toContain('pod.healthcheck');
    }));

  test('exports OTLP', () => {
    expect(show().collector.problems).toEqual([]);
  });
}

interface Trace {
  readonly root: Span;
  readonly spans: readonly Span[];
  under(parent: Span, name: string): readonly Span[];
}

/**
 * Waits for the trace of a finished rollout. A batch is sent after two seconds, and aborted spans end a moment later.
 */
async function withTrace({ stage, collector }: Show, name: string, check: (trace: Trace) => void): Promise<void> {
  const { status } = await stage.client.get<OperatorDeployment>(operatorDeployment.resource, { name });
  const trace = parseTraceparent(status?.traceparent);
  await eventually(() => {
    const spans = spansIn(collector).filter(({ traceId }) => traceId === trace?.traceId);
    const root = spans.find(({ spanId }) => spanId === trace?.parentId);
    if (root?.name !== 'operator.deploy') throw new Error(`of ${name} there is ${spans.map((each) => each.name)}`);
    const under = (parent: Span, child: string) =>
      spans.filter((span) => span.parentSpanId === parent.spanId && span.name === child);
    check({ root, spans, under });
  }, patience);
}

const spansIn = ({ requests }: Collector): Span[] =>
  requests
    .filter(({ path }) => path === '/v1/traces')
    .flatMap(({ body }) =>
      body.resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: Span[] }[] }) =>
        scopeSpans.flatMap(({ spans }) => spans),
      ),
    );

const attributesOf = (span: Span | undefined): Record<string, string | undefined> =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, value.stringValue]));
