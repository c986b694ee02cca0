/** The chart on a real API server: what each profile installs works with its permissions and no more, and uninstalling leaves users' objects. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Broker, broker, kindNamed, kinds, type Policy, policy } from '../../src/api/index.ts';
import { newKeySet } from '../../src/fleet/index.ts';
import { getCondition, isNotFound, type Resource } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { realHelm } from '../support/helm.ts';
import { examples, objectsIn, root, template } from './support/chart.ts';
import { type Installation, patient, startInstallation } from './support/installation.ts';

const registration = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
const webhooks: Resource = {
  ...registration,
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
};
const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const teams = kindNamed('Team')?.resource as Resource;

let cluster: Installation;
beforeAll(async () => {
  cluster = await startInstallation();
});
afterAll(() => cluster?.stop());

test('without the CRDs it says which command comes first', async () => {
  await expect(cluster.install({})).rejects.toThrow(
    'The CRDs of kidp are not installed in this cluster: run "kubectl apply -f crds/" first',
  );
  await cluster.kubectl(['apply', '--server-side', '-f', join(root, 'crds')]);
  await cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=180s']);
});

test('it adopts an installation of manifests/install', async () => {
  const built = await cluster.kubectl(['kustomize', join(root, 'manifests/install')]);
  // The arguments of 0.1.0.
  const older = built.replace(/args:\n(\s+- .*\n)+/, 'args: [serve, --service, kidp]\n');
  expect(older).not.toBe(built);
  await cluster.kubectl(['apply', '-f', '-'], older);
  await cluster.kubectl(['apply', '-f', join(root, 'manifests/brokers')]);
  await expect(cluster.install({})).rejects.toThrow(/invalid ownership metadata/);
  // Server-side apply would conflict with the fields of kubectl, now and at each upgrade that changes one.
  await cluster.install({}, '--take-ownership', '--server-side=false');
  expect(
    await cluster.kubectl(['get', 'deployment', 'kidp', '-n', 'kidp-system', '-o', 'jsonpath={..args}']),
  ).toContain('--owner-cluster-role=kidp');
  // What this profile does not have, as docs/install.md says.
  const rest = ['clusterrole,clusterrolebinding,role,rolebinding', 'kidp-rollouts', '-n', 'kidp-system'];
  await cluster.kubectl(['delete', ...rest]);
  await cluster.kubectl(['delete', 'clusterrole', 'kidp-read-starter']);
});

test('platform: policies are enforced, Teams are reconciled, and its broker registers and is believed', async () => {
  const replica = await cluster.serve();
  await replica.until('lease acquired');
  const { statusPort = 0 } = replica;
  const running = await cluster.broker('kidp-broker-kubernetes', statusPort);
  await running.until('serving');
  await cluster.client.create(policy.resource, marked);
  await eventually(async () => (await refusal()).includes('policy marked'), patient);
  await cluster.client.create(teams, {
    apiVersion: 'platform.company.com/v1',
    kind: 'Team',
    metadata: { name: 'backend' },
    spec: { namespace: 'backend' },
  } as never);
  await eventually(async () => readyOf(await cluster.client.get(teams, { name: 'backend' })), patient);
  await eventually(async () => {
    const { status } = await cluster.client.get<Broker>(broker.resource, { name: 'kubernetes' });
    return status?.lastHeartbeatTime !== undefined && status.identity !== undefined;
  }, patient);
  await cluster.kubectl(['get', 'deploymenttargets.platform.company.com', 'in-cluster']);

  // The garbage collector removes the webhooks with the ClusterRole.
  const { metadata } = await cluster.client.get(webhooks, { name: 'kidp-admission' });
  expect(metadata.ownerReferences).toMatchObject([{ kind: 'ClusterRole', name: 'kidp' }]);
  for (const each of [running, replica]) {
    expect(await each.stop()).toBe(0);
    expect(each.errors()).toBe('');
    expect(each.lines().filter((line) => /forbidden/i.test(line))).toEqual([]);
  }
});

test('upgrade to another profile: what it does not need goes, what users created stays', async () => {
  await cluster.install(examples.admission ?? {});
  await expect(cluster.client.get(broker.resource, { name: 'kubernetes' })).rejects.toSatisfy(isNotFound);
  const roles = await cluster.kubectl(['get', 'clusterroles', '-o', 'name']);
  expect(roles).not.toMatch(/kidp-platform|kidp-broker-kubernetes/);
  expect(await cluster.kubectl(['get', 'teams.platform.company.com', '-o', 'name'])).toContain('backend');
  const replica = await cluster.serve();
  await replica.until('lease acquired');
  await eventually(async () => (await refusal()).includes('policy marked'), patient);
  expect(await replica.stop()).toBe(0);
  expect(replica.lines().filter((line) => /forbidden/i.test(line))).toEqual([]);
});

test('crd-gate: a breaking change of a CRD is denied, and policies are not enforced', async () => {
  await cluster.install(examples['crd-gate'] ?? {});
  const replica = await cluster.serve();
  await replica.until('lease acquired');
  await eventually(async () => {
    const { webhooks: rules = [] } = (await cluster.client.get(webhooks, { name: 'kidp-admission' })) as {
      webhooks?: { name: string }[];
    };
    return rules.every(({ name }) => !name.startsWith('validate.'));
  }, patient);
  await cluster.kubectl(['apply', '-f', '-'], definition('string'));
  await expect(cluster.kubectl(['apply', '-f', '-'], definition('integer'))).rejects.toThrow(/denied|breaking/i);
  expect(await refusal()).toBe('admitted');
  expect(await replica.stop()).toBe(0);
  expect(replica.errors()).toBe('');
  expect(replica.lines().filter((line) => /forbidden/i.test(line))).toEqual([]);
});

test.each(['rollouts', 'all'])('%s: a replica with keys starts, with the permissions for rollouts', async (profile) => {
  await cluster.install(examples[profile] ?? {});
  cluster.mount('cluster-keys/cluster-keys.json', await newKeySet());
  const replica = await cluster.serve();
  await replica.until('lease acquired');
  await eventually(() => cluster.kubectl(['get', 'configmap', 'kidp-sealing-key', '-n', 'kidp-system']), patient);
  expect(await replica.stop()).toBe(0);
  expect(replica.errors()).toBe('');
  expect(replica.lines().filter((line) => /forbidden/i.test(line))).toEqual([]);
});

test('uninstall stops while objects have finalizers of kidp, and lists them', async () => {
  await cluster.install({});
  const { code, output } = await cluster.hook();
  expect(output).toBe(
    'kidp: 1 object has a finalizer of kidp, and nobody would remove it:\n  Team backend\nDelete it and try again. Or set uninstall.finalizers of the chart with "helm upgrade --reuse-values" (--finalizers of this command): "delete" deletes these objects and what brokers deployed for them, "release" removes the finalizers and leaves what brokers deployed.\n',
  );
  expect(code).toBe(1);
  expect(await replicasWanted()).toBe(2);
});

test('uninstall.finalizers=release removes the finalizers; CRDs, namespaces and what users created stay', async () => {
  await cluster.install({ uninstall: { finalizers: 'release' } });
  const { code, output } = await cluster.hook();
  expect(output).toContain('finalizers removed from 1 object\n');
  expect(code).toBe(0);
  expect(await replicasWanted()).toBe(0);
  await expect(cluster.client.get(webhooks, { name: 'kidp-admission' })).rejects.toSatisfy(isNotFound);
  await cluster.uninstall('--no-hooks');
  const { metadata } = await cluster.client.get(teams, { name: 'backend' });
  expect(metadata.finalizers).toBeUndefined();
  await cluster.client.get<Policy>(policy.resource, { name: 'marked' });
  expect(await cluster.kubectl(['get', 'namespaces', '-o', 'name'])).toMatch(/kidp-system[\s\S]*policy-exceptions/);
  const left = 'clusterroles,clusterrolebindings,validatingwebhookconfigurations,mutatingwebhookconfigurations';
  const names = await cluster.kubectl(['get', left, '-o', 'name']);
  expect(names.split('\n').filter((name) => /kidp|platform-admin/.test(name))).toEqual([
    // Of manifests/brokers, whose broker is not of the chart.
    'clusterrole.rbac.authorization.k8s.io/kidp-broker',
    'clusterrolebinding.rbac.authorization.k8s.io/kidp-broker',
  ]);
});

test('uninstall.finalizers=delete deletes the objects first', async () => {
  await cluster.install({ uninstall: { finalizers: 'delete' } });
  const replica = await cluster.serve();
  await replica.until('lease acquired');
  await eventually(async () => {
    const { metadata } = await cluster.client.get(teams, { name: 'backend' });
    return metadata.finalizers !== undefined;
  }, patient);
  const { code, output } = await cluster.hook();
  expect(output).toBe('kidp is stopped and its webhook configurations are deleted; CRDs and objects stay\n');
  expect(code).toBe(0);
  await expect(cluster.client.get(teams, { name: 'backend' })).rejects.toSatisfy(isNotFound);
  await replica.stop();
  await cluster.uninstall('--no-hooks');
});

test('without the hook the garbage collector removes the webhooks, and nothing is blocked', async () => {
  await cluster.install(examples.admission ?? {});
  const replica = await cluster.serve();
  await replica.until('lease acquired');
  await eventually(() => cluster.client.get(webhooks, { name: 'kidp-admission' }), patient);
  expect(await replica.stop()).toBe(0);
  await cluster.uninstall('--no-hooks');
  await eventually(
    () =>
      cluster.client.get(webhooks, { name: 'kidp-admission' }).then(
        () => false,
        (error) => isNotFound(error),
      ),
    patient,
  );
  expect(await refusal()).toBe('admitted');
});

test('one file installs the CRDs and kidp with one command, without kinds that the same command defines', async () => {
  const file = join(cluster.plane.directory, 'install.yaml');
  const words = [join(root, 'scripts/manifests.ts'), '--install', file, '--image', 'registry.example.com/kidp:1.2.3'];
  execFileSync(process.execPath, words, { cwd: root });
  const objects = objectsIn(readFileSync(file, 'utf8'));
  expect(objects.filter(({ apiVersion }) => apiVersion.startsWith('platform.company.com/'))).toEqual([]);
  expect(objects.filter(({ kind }) => kind === 'CustomResourceDefinition')).toHaveLength(kinds.length);
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', file]);
  expect(await cluster.kubectl(['get', 'deployment', 'kidp', '-n', 'kidp-system', '-o', 'jsonpath={..image}'])).toBe(
    'registry.example.com/kidp:1.2.3',
  );
});

test('the API server takes every object of the smallest, the default and the largest example, with all fields', async () => {
  const helm = await realHelm();
  for (const name of ['platform', 'crd-gate', 'everything']) {
    const values = examples[name] ?? {};
    const { stdout } = await template(helm, name, values);
    const objects = objectsIn(stdout);
    for (const { metadata } of objects.filter(({ kind }) => kind === 'Namespace')) {
      await cluster.kubectl(['create', 'namespace', metadata.name]).catch((error: unknown) => {
        if (!String(error).includes('AlreadyExists')) throw error;
      });
    }
    // Kinds of others, whose CRDs are not here.
    const known = objects.filter(({ apiVersion }) => !/^(cert-manager\.io|monitoring\.coreos\.com)\//.test(apiVersion));
    await cluster.kubectl(
      ['apply', '--dry-run=server', '--server-side', '--force-conflicts', '--validate=strict', '-f', '-'],
      known,
    );
  }
  helm.remove();
});

const marked = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Policy',
  metadata: { name: 'marked' },
  spec: {
    selector: { resourceTypes: ['core/v1/ConfigMap'], namespaces: ['default'] },
    rules: [{ name: 'rule', expression: "has(metadata.labels) && 'mark' in metadata.labels", message: 'Mark it' }],
  },
} as never;

/** What is said to a ConfigMap that violates the policy. */
async function refusal(): Promise<string> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'tried', namespace: 'default' } };
  try {
    await cluster.client.create(configMaps, object, { dryRun: true });
    return 'admitted';
  } catch (error) {
    return String(error);
  }
}

const definition = (type: string) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'indices.search.example.com' },
  spec: {
    group: 'search.example.com',
    names: { kind: 'Index', plural: 'indices' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: { size: { type } } } } },
        },
      },
    ],
  },
});

const readyOf = (object: object): boolean => {
  const { status } = object as { status?: { conditions?: Parameters<typeof getCondition>[0] } };
  return getCondition(status?.conditions, 'Ready')?.status === 'True';
};

async function replicasWanted(): Promise<number> {
  return Number(
    await cluster.kubectl(['get', 'deployment', 'kidp', '-n', 'kidp-system', '-o', 'jsonpath={.spec.replicas}']),
  );
}
