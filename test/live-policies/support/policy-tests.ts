/** Policies on a real API server: from their creation to the scan of existing objects. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PolicyException, policyException } from '../../../src/api/index.ts';
import { customResourceDefinitions } from '../../../src/cli/up/definitions.ts';
import type { Platform } from '../../../src/platform/index.ts';
import { clusterReports, type Report, reports } from '../../../src/reconcile/policies/reports.ts';
import type { Client, UnknownObject } from '../../../src/runtime/index.ts';
import { events } from '../../../src/runtime/internal.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { uniqueName } from '../../support/cluster.ts';
import { openReportsDefinitions } from '../../support/openreports.ts';
import { type PolicyPlane, patient, policyObject } from './platform.ts';

export function policyTests(running: () => PolicyPlane): void {
  describe('policies from the moment they are written', () => {
    const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
    const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
    let live: PolicyPlane;
    let client: Client;
    let platform: Platform & { stop(): Promise<void> };

    beforeAll(async () => {
      live = running();
      client = live.client;
      // A kind of which there are no objects may change as it likes.
      platform = await live.start({ identity: 'first', crds: { allowUnused: true } });
    });
    afterAll(() => live.clear());

    async function namespace(prefix: string): Promise<string> {
      const name = uniqueName(prefix);
      await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      return name;
    }

    const configMap = (name: string, inNamespace: string, data: Record<string, string> = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: inNamespace },
      data,
    });
    const put = (name: string, inNamespace: string, data?: Record<string, string>) =>
      client.create(configMaps, configMap(name, inNamespace, data));
    /** About the ConfigMaps of one namespace: what others do in theirs is none of its business. */
    const about = (inNamespace: string, expression: string, more: object = {}) => ({
      selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: [inNamespace] },
      rules: [{ name: 'rule', expression, message: 'Set data.a to x', fieldPath: 'data.a' }],
      ...more,
    });
    const apply = (object: object, flags: readonly string[] = []) =>
      live.kubectl(['apply', ...flags, '-f', '-'], { input: object });
    const inForce = async (object: { metadata: { name: string } }) => {
      const applied = await apply(object);
      expect(applied).toMatchObject({ code: 0 });
      await live.untilReady(object.metadata.name);
      return applied;
    };

    describe('writing a Policy', () => {
      test('that does not parse is refused with line and column', async () => {
        const { code, stderr } = await apply(
          policyObject(uniqueName('broken'), about('default', 'object.data.a ==\n && true')),
        );
        expect(code).not.toBe(0);
        expect(stderr).toMatch(/spec\.rules\[0\]\.expression, line 2, column 2/);
      });

      test('that fits nothing it matches is refused with the nearest field, a custom resource too', async () => {
        const spec = {
          selector: { resourceTypes: ['Database'] },
          rules: [{ name: 'r', expression: 'spec.bakup.enabled' }],
        };
        const { code, stderr } = await apply(policyObject(uniqueName('misspelt'), spec));
        expect(code).not.toBe(0);
        expect(stderr).toMatch(/bakup.*backup/s);
      });

      test('whose own tests fail is refused, and says which', async () => {
        const tests = [{ name: 'empty', object: configMap('x', 'default'), expect: { allowed: true } }];
        const { code, stderr } = await apply(policyObject(uniqueName('untrue'), about('default', 'false', { tests })));
        expect(code).not.toBe(0);
        expect(stderr).toContain('test "empty" (spec.tests[0]) failed');
      });

      test('reports the existing objects that it would deny, also on a dry run', async () => {
        const inNamespace = await namespace('radius');
        await put('bad', inNamespace, { a: 'y' });
        await put('good', inNamespace, { a: 'x' });
        const object = policyObject(uniqueName('radius'), about(inNamespace, "object.data.a == 'x'"));
        const { code, stderr } = await apply(object, ['--dry-run=server']);
        expect(code).toBe(0);
        expect(stderr).toMatch(
          new RegExp(
            `Warning: would deny 1 of 2 matched existing objects \\(2 objects checked in \\d+\\.\\d s\\): ConfigMap ${inNamespace}/bad \\(rule\\)`,
          ),
        );
        expect((await live.kubectl(['get', 'policy', object.metadata.name])).code).not.toBe(0);
      });
    });

    describe('a Policy', () => {
      test('is Ready once it is in force, denies with the reason, records an Event, and is out of force once it is gone', async () => {
        const inNamespace = await namespace('ready');
        const name = uniqueName('ready');
        await inForce(policyObject(name, about(inNamespace, "has(object.data) && object.data.a == 'x'")));
        const denied = await apply(configMap('bad', inNamespace, { a: 'y' }));
        expect(denied.code).not.toBe(0);
        expect(denied.stderr).toMatch(
          new RegExp(`policy ${name}, rule rule: data.a is "y", want "x"\\. Set data.a to x`),
        );
        expect(await apply(configMap('good', inNamespace, { a: 'x' }))).toMatchObject({ code: 0 });
        const event = await eventually(async () => {
          const { items } = await client.list<UnknownObject & { note?: string }>(events, { namespace: inNamespace });
          return items.find(({ reason }) => reason === 'PolicyDenied') ?? false;
        }, patient);
        expect(event).toMatchObject({
          regarding: { kind: 'ConfigMap', name: 'bad', namespace: inNamespace },
          related: { kind: 'Policy', name },
          note: expect.stringContaining('Set data.a to x'),
        });
        const status = await live.status(name);
        expect(status).toMatchObject({ phase: 'ready', matchedKinds: ['core/v1/ConfigMap'], observedGeneration: 1 });
        expect(status?.replicas).toEqual({ first: status?.revision });
        await live.kubectl(['delete', 'policy', name]);
        await eventually(async () => (await apply(configMap('late', inNamespace, { a: 'y' }))).code === 0, patient);
      });

      test('is asked about what was written while nobody judged: the scan counts and names it', async () => {
        const inNamespace = await namespace('scan');
        await put('before', inNamespace, { a: 'y' });
        const name = uniqueName('scan');
        await inForce(policyObject(name, about(inNamespace, "object.data.a == 'x'")));
        await eventually(async () => (await live.status(name))?.violations === 1, patient);
        // As if it was stored while the webhook was unavailable: the platform namespace is exempt, and the policy only audits.
        const lenient = about(inNamespace, "object.data.a == 'x'");
        await apply(policyObject(name, { ...lenient, rules: [{ ...lenient.rules[0], enforcement: 'Audit' }] }));
        await eventually(
          async () => (await apply(configMap('meanwhile', inNamespace, { a: 'z' }))).code === 0,
          patient,
        );
        platform.reconcilers.rescan();
        await eventually(async () => (await live.status(name))?.violations === 2, patient);
        expect(await live.status(name)).toMatchObject({ scannedObjects: 2, lastScanTime: expect.any(String) });
      });

      test('that only a request can answer is skipped by the scan, never passed or failed', async () => {
        const inNamespace = await namespace('who');
        await put('x', inNamespace);
        const name = uniqueName('who');
        await inForce(policyObject(name, about(inNamespace, "request.userInfo.username.startsWith('system:')")));
        await eventually(async () => (await live.status(name))?.scannedObjects === 1, patient);
        expect(await live.status(name)).toMatchObject({ violations: 0 });
      });

      test('with params follows them, and waits for no others', async () => {
        const inNamespace = await namespace('params');
        await put('limits', inNamespace, { wanted: 'x' });
        const name = uniqueName('params');
        const params = { apiVersion: 'v1', kind: 'ConfigMap', name: 'limits', namespace: inNamespace };
        await inForce(
          policyObject(
            name,
            about(inNamespace, "object.metadata.name == 'limits' || object.data.a == params.data.wanted", { params }),
          ),
        );
        expect((await apply(configMap('one', inNamespace, { a: 'y' }))).code).not.toBe(0);
        await apply(configMap('limits', inNamespace, { wanted: 'y' }));
        await eventually(async () => (await apply(configMap('one', inNamespace, { a: 'y' }))).code === 0, patient);
      });

      test('with an exception spares whom it names, also in the scan', async () => {
        const inNamespace = await namespace('exempt');
        await put('legacy', inNamespace, { a: 'y' });
        const name = uniqueName('exempt');
        await inForce(policyObject(name, about(inNamespace, "object.data.a == 'x'")));
        await eventually(async () => (await live.status(name))?.violations === 1, patient);
        const exception = (at: string) => ({
          apiVersion: 'platform.company.com/v1',
          kind: 'PolicyException',
          metadata: { name, namespace: at },
          spec: {
            policies: [{ name, rules: ['rule'] }],
            selector: { names: ['legacy'] },
            reason: 'old',
            requester: 'ada',
          },
        });
        const elsewhere = await apply(exception(inNamespace));
        expect(elsewhere.stderr).toContain(`no effect in namespace ${inNamespace}`);
        expect((await apply(exception('policy-exceptions'))).stderr).toBe('');
        await eventually(async () => (await live.status(name))?.violations === 0, patient);
        for (const [at, reason] of [
          [inNamespace, 'NamespaceNotConfigured'],
          ['policy-exceptions', 'Honoured'],
        ] as const) {
          await eventually(async () => {
            const { status } = await client.get<PolicyException>(policyException.resource, { namespace: at, name });
            return status?.conditions?.[0]?.reason === reason;
          }, patient);
        }
        expect((await apply(configMap('legacy', inNamespace, { a: 'z' }))).code).toBe(0);
        expect((await apply(configMap('new', inNamespace, { a: 'z' }))).code).not.toBe(0);
      });
    });

    describe('types', () => {
      const group = `${uniqueName('live')}.example.com`;
      const definition = (type: string) => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `things.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: { spec: { type: 'object', properties: { size: { type } } } },
                },
              },
            },
          ],
        },
      });

      test('that come later are matched then, and checked again when they change', async () => {
        const name = uniqueName('things');
        const spec = {
          selector: { resourceTypes: [`${group}/v1/Thing`] },
          rules: [{ name: 'rule', expression: 'object.spec.size < 5', message: 'Too big' }],
        };
        const early = await apply(policyObject(name, spec));
        expect(early.code).toBe(0);
        expect(early.stderr).toContain(`kind ${group}/v1/Thing was not found`);
        await apply(definition('integer'));
        await eventually(async () => (await live.condition(name, 'TypeChecked'))?.reason === 'TypesMatch', patient);
        await live.untilReady(name);
        const thing = (size: unknown) => ({
          apiVersion: `${group}/v1`,
          kind: 'Thing',
          metadata: { name: 'one', namespace: 'default' },
          spec: { size },
        });
        await eventually(async () => /Too big/.test((await apply(thing(9))).stderr), patient);
        expect((await apply(thing(3))).code).toBe(0);
        await live.kubectl(['delete', '-n', 'default', `things.${group}`, 'one']);
        await apply(definition('string'));
        await eventually(async () => (await live.condition(name, 'TypeChecked'))?.status === 'False', patient);
        expect((await live.status(name))?.typeChecking?.[0]).toMatchObject({
          fieldRef: 'spec.rules[0].expression',
          resourceType: `${group}/v1/Thing`,
        });
        await live.kubectl(['delete', 'policy', name]);
      });
    });

    describe('reports', () => {
      test('are missing where the cluster does not know them, and written once it does', async () => {
        const inNamespace = await namespace('reports');
        await put('bad', inNamespace, { a: 'y' });
        await put('good', inNamespace, { a: 'x' });
        const name = uniqueName('reports');
        await inForce(policyObject(name, about(inNamespace, "object.data.a == 'x'")));
        expect(await live.condition(name, 'ReportsAvailable')).toMatchObject({
          status: 'False',
          reason: 'OpenReportsNotInstalled',
        });
        for (const each of openReportsDefinitions()) await client.create(customResourceDefinitions, each);
        await eventually(async () => (await live.condition(name, 'ReportsAvailable'))?.status === 'True', patient);
        const report = await eventually(
          () => client.get<Report>(reports, { namespace: inNamespace, name: 'kidp' }).catch(() => false as const),
          patient,
        );
        expect(report).toMatchObject({ source: 'kidp', summary: { pass: 1, fail: 1, warn: 0, error: 0, skip: 0 } });
        expect(report.results).toMatchObject([
          {
            policy: name,
            rule: 'rule',
            result: 'fail',
            scored: true,
            severity: 'medium',
            resources: [{ apiVersion: 'v1', kind: 'ConfigMap', namespace: inNamespace, name: 'bad' }],
          },
        ]);
        const { resourceVersion } = report.metadata;
        const scanned = (await live.status(name))?.lastScanTime;
        await eventually(
          async () => {
            platform.reconcilers.rescan();
            return (await live.status(name))?.lastScanTime !== scanned;
          },
          { ...patient, every: 1_000 },
        );
        const later = await client.get<Report>(reports, { namespace: inNamespace, name: 'kidp' });
        expect(later.metadata.resourceVersion).toBe(resourceVersion);
        await client.delete(configMaps, { namespace: inNamespace, name: 'bad' });
        platform.reconcilers.rescan();
        await eventually(async () => {
          const now = await client.get<Report>(reports, { namespace: inNamespace, name: 'kidp' });
          return now.summary.fail === 0;
        }, patient);
      });

      test('are cluster-wide for what has no namespace, native policies included', async () => {
        const name = uniqueName('native');
        const registration = 'admissionregistration.k8s.io/v1';
        const marked = await namespace('native');
        await apply({
          apiVersion: registration,
          kind: 'ValidatingAdmissionPolicy',
          metadata: { name },
          spec: {
            matchConstraints: {
              resourceRules: [
                { apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces'], operations: ['CREATE', 'UPDATE'] },
              ],
            },
            validations: [{ expression: `object.metadata.name != '${marked}'`, message: 'Not this one' }],
          },
        });
        await apply({
          apiVersion: registration,
          kind: 'ValidatingAdmissionPolicyBinding',
          metadata: { name },
          spec: { policyName: name, validationActions: ['Audit'] },
        });
        const report = await eventually(async () => {
          const found = await client.get<Report>(clusterReports, { name: 'kidp' }).catch(() => undefined);
          return found?.results.some(({ resources }) => resources[0]?.name === marked) === true ? found : false;
        }, patient);
        expect(report.results.find(({ resources }) => resources[0]?.name === marked)).toMatchObject({
          policy: `${name}/${name}`,
          result: 'fail',
          message: expect.stringContaining('Not this one'),
        });
        await live.kubectl(['delete', 'validatingadmissionpolicybinding', name]);
        await live.kubectl(['delete', 'validatingadmissionpolicy', name]);
      });
    });
  });
}
