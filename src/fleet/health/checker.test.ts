/** The three parts together: the result, the trace, and cancellation. */
import { describe, expect, it } from 'vitest';
import type { Operator } from '../../api/index.ts';
import { type Client, ConnectionError, type Tracer, type UnknownObject } from '../../runtime/index.ts';
import type { SpanOptions } from '../../runtime/internal.ts';
import type { ClusterConnection, Snapshot } from '../contract.ts';
import { healthChecker } from './checker.ts';
import { profileOf } from './profile.ts';

const operator = { spec: {} } as Operator;
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.test' },
  spec: {
    group: 'test',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [
      { name: 'v1', served: true, storage: false, schema: { openAPIV3Schema: { type: 'object' } } },
      {
        name: 'v2',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: { type: 'object', required: ['size'], properties: { size: { type: 'integer', minimum: 4 } } },
              status: { type: 'object', properties: { observedGeneration: { type: 'integer' } } },
            },
          },
        },
      },
    ],
  },
};
const snapshot = (manifests: readonly object[] = [], definitions: readonly object[] = []) =>
  ({
    digest: JSON.stringify([manifests, definitions]),
    namespace: 'operators',
    manifests,
    definitions,
  }) as unknown as Snapshot;
const connection = (client: object) => ({ cluster: 'here', client: client as Client }) as ClusterConnection;

describe('a check', () => {
  it('is healthy without findings', async () => {
    const report = await healthChecker().check(connection({}), { operator, snapshot: snapshot(), revision: 1 }, {});
    expect(report).toMatchObject({ state: 'Healthy', controllerPods: 0, pods: { state: 'NotChecked' } });
  });

  it('is unknown if the cluster is unreachable, without quoting the error', async () => {
    const silent = new ConnectionError({ doing: 'list', failure: 'refused', message: 'https://secret:1', hint: '' });
    const client = { list: () => Promise.reject(silent) };
    const target = { operator, snapshot: snapshot([], [definition]), revision: 1 };
    const report = await healthChecker().check(connection(client), target, {});
    expect(report).toMatchObject({ state: 'Unknown', reconciliation: { state: 'Unknown' } });
    expect(JSON.stringify(report)).not.toContain('secret');
  });

  it('ends with its signal', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    const aborted = new ConnectionError({ doing: 'list', failure: 'aborted', message: '', hint: '' });
    const client = { list: () => Promise.reject(aborted) };
    const target = { operator, snapshot: snapshot([], [definition]), revision: 1 };
    await expect(healthChecker().check(connection(client), target, { signal })).rejects.toBe(aborted);
  });

  it('is one span with one below it for each part, as the requirement draws them', async () => {
    const spans: { name: string; parent?: string }[] = [];
    const tracer: Tracer = {
      span(name, { parent }: SpanOptions, run) {
        spans.push({ name, ...(parent === undefined ? {} : { parent }) });
        return run({ traceparent: `of ${name}`, set() {}, event() {} });
      },
    };
    const target = { operator, snapshot: snapshot(), revision: 1 };
    await healthChecker({ tracer }).check(connection({}), target, { traceparent: 'of the rollout' });
    expect(spans).toEqual([
      { name: 'operator.healthcheck', parent: 'of the rollout' },
      { name: 'pod.healthcheck', parent: 'of operator.healthcheck' },
      { name: 'webhook.healthcheck', parent: 'of operator.healthcheck' },
      { name: 'crd.reconciliation.check', parent: 'of operator.healthcheck' },
    ]);
  });
});

describe('a profile', () => {
  const manifest = (kind: string, metadata: object, more: object = {}): UnknownObject =>
    ({ apiVersion: 'v1', kind, metadata, ...more }) as unknown as UnknownObject;
  const template = { spec: { containers: [{ name: 'a', image: 'b', volumeMounts: ['left out'] }] } };

  it('has workloads, webhooks and kinds, without hooks', () => {
    const profile = profileOf(
      snapshot(
        [
          manifest('Deployment', { name: 'here' }, { spec: { replicas: 2, template } }),
          manifest('DaemonSet', { name: 'there', namespace: 'other' }, { spec: { template } }),
          manifest('Deployment', { name: 'once', annotations: { 'helm.sh/hook': 'pre-install' } }),
          manifest('ConfigMap', { name: 'nothing' }),
          manifest('MutatingWebhookConfiguration', { name: 'hook' }),
        ],
        [definition, manifest('CustomResourceDefinition', { name: 'broken' })],
      ),
    );
    expect(profile.workloads.map(({ namespace, name, replicas }) => [namespace, name, replicas])).toEqual([
      ['operators', 'here', 2],
      ['other', 'there', 1],
    ]);
    expect(JSON.stringify(profile)).not.toContain('left out');
    expect(profile.webhooks).toEqual([{ kind: 'MutatingWebhookConfiguration', name: 'hook' }]);
    expect(profile.kinds).toMatchObject([
      {
        definition: 'widgets.test',
        resource: { version: 'v2', plural: 'widgets' },
        countsGenerations: true,
        reportsGeneration: true,
        example: {
          apiVersion: 'test/v2',
          kind: 'Widget',
          spec: { size: expect.toSatisfy((size: number) => size >= 4) },
        },
      },
    ]);
  });

  it('has no generated objects without webhooks', () => {
    expect(profileOf(snapshot([], [definition])).kinds[0]?.example).toBeUndefined();
  });
});
