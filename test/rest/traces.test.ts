/** What is told of requests that do something: by the names of docs/requirements.md, 002, in the trace of the caller. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorDeployment, operatorDeployment, TRACEPARENT_ANNOTATION } from '../../src/api/index.ts';
import type { Tracer } from '../../src/runtime/index.ts';
import { childTraceparent, parseTraceparent } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { uniqueName } from '../support/cluster.ts';
import { openStage, type Stage } from './support/testbed.ts';

interface Told {
  readonly name: string;
  readonly traceparent: string;
  readonly parent: string | undefined;
  readonly attributes: Record<string, unknown>;
  failed?: true;
}

const told: Told[] = [];
const tracer: Tracer = {
  async span(name, { parent, attributes }, run) {
    const span: Told = { name, parent, traceparent: childTraceparent(parent), attributes: { ...attributes } };
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
      told.push(span);
    }
  },
};

let stage: Stage;
beforeAll(async () => {
  stage = await openStage({ tracer });
});
afterAll(() => stage?.stop());

/** As somebody with every right, in a trace of their own; with the span of the request and those below it. */
async function posting(path: string, body: object) {
  const traceparent = childTraceparent();
  const token = await stage.token(uniqueName('admin'), ['kidp:admin']);
  const asked = await stage.ask(path, { method: 'POST', token, body, headers: { traceparent } });
  const { traceId } = parseTraceparent(traceparent) ?? {};
  // It is told when the connection has taken the answer.
  const request = await eventually(
    () => {
      const found = told.find(({ parent }) => parent === traceparent);
      if (found === undefined) throw new Error('the request was not told of');
      return found;
    },
    { within: 60_000, every: 10 },
  );
  return { asked, traceId, request, under: told.filter(({ parent }) => parent === request.traceparent) };
}

test.each([
  { reason: 'a cluster that answers', change: {}, status: 201, failed: false },
  {
    reason: 'one that does not',
    change: { clusters: [{ name: 'cluster', cluster: { server: 'https://127.0.0.1:1' } }] },
    status: 400,
    failed: true,
  },
])('a cluster is reached in a span of the request: $reason', async ({ change, status, failed }) => {
  const name = uniqueName('cluster');
  const kubeconfig = JSON.stringify({ ...JSON.parse(stage.kubeconfig), ...change });
  const { asked, under } = await posting('/api/v1/clusters', { name, environment: 'Dev', kubeconfig });
  expect(asked.status).toBe(status);
  expect(under).toMatchObject([{ name: 'cluster.connect', attributes: { 'cluster.name': name } }]);
  expect(under[0]?.failed === true).toBe(failed);
});

test('a definition is compared in one, with what it came to', async () => {
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

test('a deployment carries on the trace in which it was asked for', async () => {
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
