/** What nobody, and no policy, keeps the platform from: its webhook configurations, its status, its Leases, its questions. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { policy } from '../../../src/api/index.ts';
import { customResourceDefinitions } from '../../../src/cli/up/definitions.ts';
import { reportKinds } from '../../../src/reconcile/policies/report-kinds.ts';
import type { Report } from '../../../src/reconcile/policies/reports.ts';
import type { Client, Resource, UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { type PolicyPlane, patient, policyObject } from './platform.ts';

export function ownWriteTests(running: () => PolicyPlane): void {
  describe('what the platform writes', () => {
    let live: PolicyPlane;
    let client: Client;
    beforeAll(() => {
      live = running();
      client = live.client;
    });
    afterAll(() => live.clear());

    const apply = (object: object) => live.kubectl(['apply', '-f', '-'], { input: object });
    const configMap = (name: string, metadata: object = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'default', ...metadata },
    });
    const onConfigMaps = (expression: string) => ({
      selector: { resourceTypes: ['core/v1/ConfigMap'] },
      rules: [{ name: 'rule', expression, message: 'Not like this' }],
    });
    const isRefused = async () => (await apply(configMap('refused'))).stderr.includes('policy names');

    test('a Policy says that nobody has looked at it, until somebody has', async () => {
      await apply(policyObject('names', onConfigMaps("object.metadata.name != 'refused'")));
      expect(await live.status('names')).toEqual({ observedGeneration: -1 });
      await live.start({ identity: 'only', reportApi: 'wgpolicyk8s.io', exceptionNamespaces: ['waivers'] });
      await live.untilReady('names');
      expect((await live.status('names'))?.observedGeneration).toBe(1);
      await eventually(isRefused, patient);
    });

    const configurations = (kind: 'Mutating' | 'Validating'): Resource => ({
      group: 'admissionregistration.k8s.io',
      version: 'v1',
      plural: `${kind.toLowerCase()}webhookconfigurations`,
      kind: `${kind}WebhookConfiguration`,
      namespaced: false,
    });
    const configuration = { name: 'kidp-admission' };

    test('webhook configurations that somebody deletes or changes are put back', async () => {
      for (const kind of ['Validating', 'Mutating'] as const) {
        const resource = configurations(kind);
        const { webhooks, metadata } = await client.get<UnknownObject>(resource, configuration);
        const stands = async (otherThan: string | undefined) => {
          const now = await client.get<UnknownObject>(resource, configuration).catch(() => undefined);
          return now?.metadata.uid !== otherThan && JSON.stringify(now?.webhooks) === JSON.stringify(webhooks);
        };
        await client.delete(resource, configuration);
        await eventually(() => stands(metadata.uid), patient);
        // Whoever puts it back may write it once more meanwhile.
        await eventually(async () => {
          const present = await client.get<UnknownObject>(resource, configuration);
          const [first] = present.webhooks as object[];
          const webhooks = [{ ...first, failurePolicy: 'Ignore', timeoutSeconds: 1 }];
          return client.update(resource, { ...present, webhooks });
        }, patient);
        await eventually(() => stands(undefined), patient);
      }
      await eventually(isRefused, patient);
    });

    test('policies that refuse what the platform writes refuse it to others alone', async () => {
      const refusing = {
        selector: {
          resourceTypes: ['platform.company.com/*/*/status', 'coordination.k8s.io/v1/Lease', 'events.k8s.io/v1/Event'],
          includeSystemNamespaces: true,
        },
        rules: [{ name: 'rule', expression: 'false', message: 'Nobody' }],
      };
      await apply(policyObject('nobody', refusing));
      await live.untilReady('nobody');
      const stranger = client.impersonate({ user: 'stranger', groups: ['system:masters'] });
      const lease: UnknownObject = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'mine', namespace: 'kube-system' },
      };
      const leases: Resource = {
        group: 'coordination.k8s.io',
        version: 'v1',
        plural: 'leases',
        kind: 'Lease',
        namespaced: true,
      };
      await eventually(async () => {
        const said = await stranger.create(leases, lease, { dryRun: true }).then(
          () => '',
          (error: Error) => error.message,
        );
        return said.includes('policy nobody');
      }, patient);
      await apply(policyObject('another', onConfigMaps("object.metadata.name != 'never'")));
      await live.untilReady('another');
      await client.delete(policy.resource, { name: 'nobody' });
    });

    test('a policy on access reviews that asks who may do what is not asked about its own question', async () => {
      const asking = {
        selector: { resourceTypes: ['authorization.k8s.io/v1/SubjectAccessReview'], operations: ['CREATE'] },
        rules: [
          {
            name: 'rule',
            expression: "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
            message: 'Only who may read secrets may ask',
          },
        ],
      };
      await apply(policyObject('askers', asking));
      await live.untilReady('askers');
      const review: UnknownObject = {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        metadata: {} as UnknownObject['metadata'],
        spec: { user: 'ada', resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default' } },
      };
      const reviews: Resource = {
        group: 'authorization.k8s.io',
        version: 'v1',
        plural: 'subjectaccessreviews',
        kind: 'SubjectAccessReview',
        namespaced: false,
      };
      await live.kubectl([
        'create',
        'clusterrole',
        'ask',
        '--verb=create',
        '--resource=subjectaccessreviews.authorization.k8s.io',
      ]);
      await live.kubectl(['create', 'clusterrolebinding', 'ask', '--clusterrole=ask', '--user=asker']);
      const asker = client.impersonate({ user: 'asker', groups: ['system:authenticated'] });
      const root = client.impersonate({ user: 'root', groups: ['system:masters'] });
      await eventually(async () => {
        const said = await asker.create(reviews, review).then(
          () => '',
          (error: Error) => error.message,
        );
        return said.includes('Only who may read secrets may ask');
      }, patient);
      expect(await root.create(reviews, review)).toMatchObject({ status: { allowed: false } });
      await client.delete(policy.resource, { name: 'askers' });
    });

    test('what an exception in a namespace of our choice spared is counted again the moment it runs out', async () => {
      await live.kubectl(['create', 'namespace', 'waivers']);
      await client.create(
        { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true },
        configMap('legacy', { labels: { old: 'yes' } }),
      );
      await apply(policyObject('no-legacy', onConfigMaps("object.metadata.name != 'legacy'")));
      await eventually(async () => (await live.status('no-legacy'))?.violations === 1, patient);
      const expiresAt = new Date(Date.now() + 12_000).toISOString().replace(/\.\d+Z$/, 'Z');
      await apply({
        apiVersion: 'platform.company.com/v1',
        kind: 'PolicyException',
        metadata: { name: 'for-a-moment', namespace: 'waivers' },
        spec: {
          policies: [{ name: 'no-legacy' }],
          selector: { matchLabels: { old: 'yes' } },
          reason: 'moving',
          requester: 'ada',
          expiresAt,
        },
      });
      // A machine that is slow may see it only once it is over.
      const isOver = () => Date.now() > Date.parse(expiresAt);
      await eventually(async () => isOver() || (await live.status('no-legacy'))?.violations === 0, patient);
      await eventually(async () => (await live.status('no-legacy'))?.violations === 1, patient);
    });

    test('findings are written as PolicyReports where that is asked for', async () => {
      const { reports, clusterReports } = reportKinds['wgpolicyk8s.io'];
      for (const resource of [reports, clusterReports])
        await client.create(customResourceDefinitions, olderReports(resource));
      await eventually(() => client.list(reports), patient);
      await eventually(async () => {
        const { items } = await client.list<Report>(reports, { namespace: 'default' });
        expect(items[0]).toMatchObject({
          metadata: { name: 'kidp' },
          scope: { kind: 'Namespace', name: 'default' },
          results: expect.arrayContaining([
            expect.objectContaining({ source: 'kidp', policy: 'no-legacy', rule: 'rule', result: 'fail' }),
          ]),
        });
      }, patient);
    });

    /** With the fields of v1alpha2 and no others: what it does not declare, server-side apply refuses. */
    function olderReports({ group, version, plural, kind, namespaced }: Resource): UnknownObject {
      const text = { type: 'string' };
      const texts = { type: 'object', additionalProperties: text };
      const count = { type: 'integer' };
      const counts = { pass: count, fail: count, warn: count, error: count, skip: count };
      const reference = {
        type: 'object',
        properties: { apiVersion: text, kind: text, namespace: text, name: text, uid: text },
      };
      const result = {
        source: text,
        policy: text,
        rule: text,
        category: text,
        severity: { ...text, enum: ['critical', 'high', 'low', 'medium', 'info'] },
        result: { ...text, enum: ['pass', 'fail', 'warn', 'error', 'skip'] },
        scored: { type: 'boolean' },
        timestamp: { type: 'object', properties: { seconds: count, nanos: count } },
        resources: { type: 'array', items: reference },
        message: text,
        properties: texts,
      };
      const properties = {
        scope: reference,
        summary: { type: 'object', properties: counts },
        results: { type: 'array', items: { type: 'object', required: ['policy'], properties: result } },
      };
      return {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
        spec: {
          group,
          scope: namespaced ? 'Namespaced' : 'Cluster',
          names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
          versions: [
            { name: version, served: true, storage: true, schema: { openAPIV3Schema: { type: 'object', properties } } },
          ],
        },
      };
    }
  });
}
