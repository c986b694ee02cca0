/** `kidp check` and `kidp impact` with a real cluster: what it knows is taken from there, and what runs there can be asked. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CheckResult } from '../../src/cli/check/result.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { runCheck, runImpact } from '../support/check-command.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';

const cluster = sharedCluster();
const native = uniqueName('no-secrets-in-config');
let namespace: string;
let directory: string;

beforeAll(async () => {
  namespace = await cluster.uniqueNamespace('check');
  directory = mkdtempSync(join(tmpdir(), 'kidp-check-live-'));
  await cluster.kubectl(['label', 'namespace', namespace, 'tier=gold']);
  await apply([
    config('settings', { most: '2' }),
    config('old', { a: '1' }),
    config('large', { a: '1', b: '2', c: '3' }),
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: native },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
          ],
        },
        validations: [{ expression: "!('password' in object.data)", message: 'no passwords in ConfigMaps' }],
      },
    },
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: native },
      spec: {
        policyName: native,
        validationActions: ['Deny'],
        matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
      },
    },
  ]);
  writeFileSync(join(directory, 'policies.yaml'), policies());
  const objects = [
    config('old', { a: '2' }),
    config('new', { a: '1' }),
    config('password', { password: 'x' }),
    { apiVersion: 'example.com/v1', kind: 'Unknown', metadata: { name: 'x', namespace } },
  ];
  for (const [index, object] of objects.entries())
    writeFileSync(join(directory, `${index}.json`), JSON.stringify(object));
});

afterAll(async () => {
  rmSync(directory, { recursive: true });
  const kinds =
    'validatingadmissionpolicies.admissionregistration.k8s.io,validatingadmissionpolicybindings.admissionregistration.k8s.io';
  await cluster.kubectl(['delete', kinds, native, '--ignore-not-found']);
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

const config = (name: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data,
});

async function apply(objects: object[]): Promise<void> {
  const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], { input: objects });
  if (code !== 0) throw new Error(stderr);
}

const policies = () => `apiVersion: platform.company.com/v1
kind: Policy
metadata: {name: live}
spec:
  selector: {resourceTypes: [core/v1/ConfigMap], namespaces: [${namespace}], namespaceSelector: {matchLabels: {tier: gold}}}
  params: {apiVersion: v1, kind: ConfigMap, name: settings, namespace: ${namespace}}
  rules:
  - {name: most, expression: size(object.data) <= int(params.data.most), message: Too many.}
  - {name: kept, expression: oldObject == null || oldObject.data == object.data, message: It has changed.}
  - {name: allowed, expression: "authorizer.group('').resource('secrets').namespace('${namespace}').check('list').allowed()", message: Ask somebody who may list secrets.}
`;

async function results(flags: readonly string[]) {
  const { code, out, err } = await runCheck([...flags, '--kubeconfig', cluster.kubeconfig, '-o', 'json'], {
    directory,
  });
  expect(err).toBe('');
  const found: CheckResult[] = JSON.parse(out);
  return {
    code,
    words: found.map(({ result, rule, policy, resource }) => `${resource.name}: ${result} ${policy} ${rule}`.trim()),
  };
}

test('namespaces, params, the objects as they are and what a user may do come from the cluster', async () => {
  const { code, words } = await results(['-f', 'policies.yaml', '0.json', '1.json', '--user', 'nobody']);
  expect(words).toEqual([
    'old: pass live most',
    'old: fail live kept',
    'old: fail live allowed',
    'new: pass live most',
    'new: pass live kept',
    'new: fail live allowed',
  ]);
  expect(code).toBe(1);
  const group = await results(['-f', 'policies.yaml', '1.json', '--user', 'somebody', '--group', 'system:masters']);
  expect(group).toEqual({ code: 0, words: ['new: pass live most', 'new: pass live kept', 'new: pass live allowed'] });
});

test('without a user what hangs on one is skipped', async () => {
  const { words } = await results(['-f', 'policies.yaml', '1.json']);
  expect(words).toContain('new: skip live allowed');
});

test('the API server itself can be asked, and stores nothing', async () => {
  const asked = () => results(['--server-dry-run', '-f', '1.json', '2.json', '3.json']);
  // A native policy takes effect a moment after it was written.
  await eventually(
    async () => (await asked()).code === 1 && (await asked()).words.some((word) => word.startsWith('password: fail')),
  );
  expect((await asked()).words).toEqual([
    'new: pass api-server',
    expect.stringMatching(new RegExp(`^password: fail ${native}`)),
    'x: error api-server unknown-kind',
  ]);
  expect((await cluster.kubectl(['get', 'configmap', 'new', '-n', namespace])).code).not.toBe(0);
});

test('the impact of a policy on what is in the cluster', async () => {
  const { code, out } = await runImpact(['-f', 'policies.yaml', '--kubeconfig', cluster.kubeconfig, '-o', 'json'], {
    directory,
  });
  expect(code).toBe(0);
  const impact = JSON.parse(out);
  expect(impact).toMatchObject({ denied: 1, complete: true });
  expect(impact.rules[0]).toMatchObject({
    rule: 'most',
    denied: 1,
    first: [{ kind: 'ConfigMap', namespace, name: 'large' }],
  });
  expect(impact.matched).toBeGreaterThanOrEqual(3);
});

test('what is null is read as the API server reads it', async () => {
  const rules = [
    '!has(object.spec.paused)',
    '!has(object.spec.template.spec.containers[0].securityContext)',
    '!has(object.spec.template.spec.containers[0].args)',
    "object.metadata.labels['empty'] == ''",
    '!has(object.metadata.annotations)',
  ];
  const manifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: nulls
  namespace: ${namespace}
  labels: {empty: }
  annotations:
spec:
  paused:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - name: a
        image: a
        args:
        securityContext:
`;
  const read = await cluster.kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], { input: manifest });
  const { metadata, spec } = JSON.parse(read.stdout);
  expect(metadata.labels).toEqual({ empty: '' });
  expect(metadata).not.toHaveProperty('annotations');
  expect(spec).not.toHaveProperty('paused');
  expect(spec.template.spec.containers[0]).not.toHaveProperty('securityContext');
  expect(spec.template.spec.containers[0]).not.toHaveProperty('args');
  const policy = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Policy',
    metadata: { name: 'nulls' },
    spec: {
      selector: { resourceTypes: ['apps/v1/Deployment'] },
      rules: rules.map((expression, index) => ({ name: `rule-${index}`, expression, message: 'It is there.' })),
    },
  };
  writeFileSync(join(directory, 'nulls.yaml'), `${manifest}---\n${JSON.stringify(policy)}\n`);
  const { code, out } = await runCheck(['-f', 'nulls.yaml', '-o', 'json'], { directory });
  const found: CheckResult[] = JSON.parse(out);
  expect(found.map(({ rule, result }) => `${rule} ${result}`)).toEqual(rules.map((_, index) => `rule-${index} pass`));
  expect(code).toBe(0);
});
