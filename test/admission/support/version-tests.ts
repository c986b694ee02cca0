/** Policies that name different versions of one resource: each is asked about every request, once, whatever version it was sent in. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Admission,
  type LivePolicySource,
  startAdmission,
  startPolicySource,
} from '../../../src/admission/index.ts';
import { policy as policyKind } from '../../../src/api/index.ts';
import type { Client, Resource, UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { applyPolicy, deletePolicy, type Platform, platformNamespace, policy } from './platform.ts';

export function versionTests(running: () => Platform): void {
  describe('versions of one resource', () => {
    let client: Client;
    let source: LivePolicySource;
    let admission: Admission;
    let heard: string[] = [];
    const patient = { within: 180_000, every: 100 };

    beforeAll(async () => {
      ({ client } = running());
      source = startPolicySource({ client, platformNamespace, exceptionNamespaces: [] });
      admission = await startAdmission({
        client,
        policies: source,
        owners: source.owners,
        mapping: () => source.mapping,
        reconcilers: ['reconciler'],
        platformNamespace,
        observer: {
          evaluated: ({ decision }) =>
            void heard.push(...decision.results.map(({ policy: by, message }) => `${by} ${message}`)),
        },
      });
    });
    afterAll(async () => {
      await admission?.stop();
      await source?.stop();
    });

    /** It always complains, of the version that it was shown. */
    const complaint = (name: string, resourceTypes: readonly string[], spec: object = {}): UnknownObject =>
      policy(name, resourceTypes, "object.apiVersion == ''", {
        rule: { enforcement: 'Warn', messageExpression: 'object.apiVersion' },
        spec,
      });

    const autoscaler = (version: string): UnknownObject => ({
      apiVersion: `autoscaling/${version}`,
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web', namespace: 'default' },
      spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
    });
    const autoscalers = (version: string): Resource => ({
      group: 'autoscaling',
      version,
      plural: 'horizontalpodautoscalers',
      kind: 'HorizontalPodAutoscaler',
      namespaced: true,
    });
    const inCore: UnknownObject = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'one', namespace: 'default' },
      involvedObject: { kind: 'Pod', name: 'web', namespace: 'default' },
    };
    const inEvents: UnknownObject = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'two', namespace: 'default' },
      regarding: { kind: 'Pod', name: 'web', namespace: 'default' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.com/test',
      reportingInstance: 'test',
      action: 'Test',
      reason: 'Test',
      type: 'Normal',
    };
    const events = (group: string): Resource => ({
      group,
      version: 'v1',
      plural: 'events',
      kind: 'Event',
      namespaced: true,
    });

    const HPA = 'HorizontalPodAutoscaler';
    const rows: {
      reason: string;
      policies: UnknownObject[];
      sent: readonly { resource: Resource; object: UnknownObject; heard: string[] }[];
    }[] = [
      {
        reason: 'one version beside everything',
        policies: [complaint('second', [`autoscaling/v2/${HPA}`]), complaint('any', ['*'])],
        sent: [
          {
            resource: autoscalers('v1'),
            object: autoscaler('v1'),
            heard: ['any autoscaling/v1', 'second autoscaling/v2'],
          },
          {
            resource: autoscalers('v2'),
            object: autoscaler('v2'),
            heard: ['any autoscaling/v2', 'second autoscaling/v2'],
          },
        ],
      },
      {
        reason: 'two versions, and one policy on both',
        policies: [
          complaint('first', [`autoscaling/v1/${HPA}`]),
          complaint('second', ['autoscaling/v2/*']),
          complaint('both', [`autoscaling/v1/${HPA}`, `autoscaling/v2/${HPA}`]),
        ],
        sent: [
          {
            resource: autoscalers('v1'),
            object: autoscaler('v1'),
            heard: ['both autoscaling/v1', 'first autoscaling/v1', 'second autoscaling/v2'],
          },
          {
            resource: autoscalers('v2'),
            object: autoscaler('v2'),
            heard: ['both autoscaling/v2', 'first autoscaling/v1', 'second autoscaling/v2'],
          },
        ],
      },
      {
        reason: 'one that fails closed beside everything that fails open',
        policies: [
          complaint('second', [`autoscaling/v2/${HPA}`]),
          complaint('open', ['*'], { failurePolicy: 'Ignore' }),
          complaint('first', [`autoscaling/v1/${HPA}`], { failurePolicy: 'Ignore' }),
        ],
        sent: [
          {
            resource: autoscalers('v1'),
            object: autoscaler('v1'),
            heard: ['first autoscaling/v1', 'open autoscaling/v1', 'second autoscaling/v2'],
          },
          {
            resource: autoscalers('v2'),
            object: autoscaler('v2'),
            heard: ['first autoscaling/v1', 'open autoscaling/v2', 'second autoscaling/v2'],
          },
        ],
      },
      {
        reason: 'the same objects in two groups',
        policies: [complaint('core', ['core/v1/Event']), complaint('events', ['events.k8s.io/v1/Event'])],
        sent: [
          { resource: events(''), object: inCore, heard: ['core v1', 'events events.k8s.io/v1'] },
          { resource: events('events.k8s.io'), object: inEvents, heard: ['core v1', 'events events.k8s.io/v1'] },
        ],
      },
    ];

    describe('every policy judges each request once', () => {
      test.each(rows)('$reason', async ({ policies, sent }) => {
        for (const each of policies) await applyPolicy(client, each);
        for (const { resource, object, heard: expected } of sent) {
          const ask = async () => {
            heard = [];
            await client.create(resource, object, { dryRun: true });
            return heard.toSorted();
          };
          // Also once all are in force: what the cluster's own controllers write meanwhile is judged too.
          await eventually(async () => expect(await ask()).toEqual(expected), patient);
        }
        for (const { metadata } of policies) await client.delete(policyKind.resource, metadata);
        await eventually(() => source.current().set.policies.length === 0, patient);
      });

      test('mutations in one version of what is sent in another', async () => {
        const mutation = (name: string, resourceTypes: readonly string[], expression: string): UnknownObject => ({
          ...policy(name, resourceTypes, 'true'),
          spec: {
            selector: { resourceTypes },
            mutations: [{ name: 'only', patchType: 'JSONPatch', jsonPatch: { expression } }],
          },
        });
        const add = (path: string, value: string) => `[JSONPatch{op: "add", path: "${path}", value: ${value}}]`;
        await applyPolicy(
          client,
          mutation(
            'behave',
            [`autoscaling/v2/${HPA}`],
            add(
              '/spec/behavior',
              'Object.spec.behavior{scaleDown: Object.spec.behavior.scaleDown{selectPolicy: "Disabled"}}',
            ),
          ),
        );
        await applyPolicy(client, mutation('label', ['*'], add('/metadata/labels', '{"seen": "yes"}')));
        const made = await eventually(async () => {
          const { metadata } = await client.create(autoscalers('v1'), autoscaler('v1'), { dryRun: true });
          const { annotations = {}, labels } = metadata;
          const text = annotations['autoscaling.alpha.kubernetes.io/behavior'];
          return labels === undefined || text === undefined ? false : { labels, text };
        }, patient);
        expect(made.labels).toEqual({ seen: 'yes' });
        expect(made.text).toContain('Disabled');
        for (const name of ['behave', 'label']) await deletePolicy(client, name);
      });
    });
  });
}
