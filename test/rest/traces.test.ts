/**
 * Spans of requests that change something: their names in docs/requirements.md, 002, within the trace of the caller.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorDeployment, operatorDeployment, TRACEPARENT_ANNOTATION } from '../../src/api/index.ts';
import type { Tracer } from '../../src/runtime/index.ts';
import { childTraceparent, parseTraceparent } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { openStage, type Stage } from './support/testbed.ts';

interface RecordedSpan {
  readonly name: string;
  readonly traceparent: string;
  readonly parent: string | undefined;
  readonly attributes: Record<string, unknown>;
  failed?: true;
}

const spans: RecordedSpan[] = [];
const tracer: Tracer = {
  async span(name, { parent, attributes }, run) {
    const span: RecordedSpan = { name, parent, traceparent: childTraceparent(parent), attributes: { ...attributes } };
    try {
      return await run({
        traceparent: span.traceparent,
        set: (more) => void Object.assign(span.attributes, more),
        event() {},
      });
    } catch (error) {
      span.failed = true;
      throw error;
    } finally {
      spans.push(span);
    }
  },
};

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ tracer });
});
afterAll(() => stage?.stop());

/** Sends a request with every right in a new trace. Returns the span of the request and its children. */
async function posting(path: string, body: object) {
  const traceparent = childTraceparent();
  const token = await stage.token(uniqueName('admin'), ['kidp:admin']);
  const asked = await stage.ask(path, { method: 'POST', token, body, headers: { traceparent } });
  const { traceId } = parseTraceparent(traceparent) ?? {};
  // The span ends when the response is sent.
  const request = await eventually(
    () => {
      const found = spans.find(({ parent }) => parent === traceparent);
      if (found === undefined) throw new Error('no span was recorded for the request');
      return found;
    },
    { within: 60_000, every: 10 },
  );
  return { asked, traceId, request, under: spans.filter(({ parent }) => parent === request.traceparent) };
}

test.each([
  { reason: 'a reachable cluster', change: {}, status: 201, failed: false },
  {
    reason: 'an unreachable cluster',
    change: { clusters: [{ name: 'cluster', cluster: { server: 'https://127.0.0.1:1' } }] },
    status: 400,
    failed: true,
  },
])('connects to a cluster in a child span: $reason', async ({ change, status, failed }) => {
  const name = uniqueName('cluster');
  const kubeconfig = JSON.stringify({ ...JSON.parse(stage.kubeconfig), ...change });
  const { asked, under } = await posting('/api/v1/clusters', { name, environment: 'Dev', kubeconfig });
  expect(asked.status).toBe(status);
  expect(under).toMatchObject([{ name: 'cluster.connect', attributes: { 'cluster.name': name } }]);
  expect(under[0]?.failed === true).toBe(failed);
});

test('validates a CRD in a child span with the verdict', async () => {
  const plural = uniqueName('gadgets');
  const name = `${plural}.example.com`;
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind: 'Gadget' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  };
  const { under } = await posting(`/api/v1/crds/${name}/validate`, { definition });
  expect(under).toMatchObject([
    { name: 'operator.validate', attributes: { 'crd.name': name, 'crd.verdict': 'created' } },
  ]);
});

test('a deployment continues the trace of its request', async () => {
  const { asked, traceId, request } = await posting('/api/v1/deployments', {
    operator: uniqueName('widgets'),
    version: '1.0.0',
    clusters: ['dev-1'],
    strategy: 'Direct',
  });
  expect(asked.status).toBe(202);
  const made = await stage.admin.get<OperatorDeployment>(operatorDeployment.resource, { name: asked.body.name });
  const written = made.metadata.annotations?.[TRACEPARENT_ANNOTATION];
  expect(written).toBe(request.traceparent);
  expect(parseTraceparent(written)?.traceId).toBe(traceId);
});
