import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Client, connect, loadKubeconfig, type Resource } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing.ts';
import { type ControlPlane, sharedCluster, startControlPlane } from '../support/cluster.ts';
import { type Flux, startFlux } from '../support/flux.ts';
import { type GitRepository, type GitServer, serveGit } from '../support/git-server.ts';

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

/** Denies a ConfigMap that is marked as bad, with a reason of its own. */
const policy = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'no-bad-settings' },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
        ],
      },
      validations: [{ expression: "object.?data.mood.orValue('') != 'bad'", message: 'the mood must not be bad' }],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'no-bad-settings' },
    spec: { policyName: 'no-bad-settings', validationActions: ['Deny'] },
  },
];

describe('Flux on the control plane', () => {
  const { kubectl } = sharedCluster();
  let plane: ControlPlane;
  let client: Client;
  let flux: Flux;
  let server: GitServer;
  let repository: GitRepository;

  beforeAll(async () => {
    plane = await startControlPlane();
    client = connect(loadKubeconfig({ file: plane.kubeconfig }));
    expect(await kubectl(['apply', '-f', '-'], { input: policy, kubeconfig: plane.kubeconfig })).toMatchObject({
      code: 0,
    });
    [flux, server] = await Promise.all([startFlux({ kubeconfig: plane.kubeconfig }), serveGit()]);
    repository = await server.repository('apps');
  });
  afterAll(async () => {
    await flux?.stop();
    await server?.close();
    await client?.close();
    await plane?.stop();
  });

  const mood = async () => {
    const { data } = await client.get(configMaps, { namespace: 'default', name: 'settings' });
    return (data as { mood?: string }).mood;
  };
  const settings = (value: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\n  namespace: default\ndata:\n  mood: ${value}\n`;

  it('lands what is committed', async () => {
    const commit = await repository.commit({ 'settings.yaml': settings('good') });
    await flux.sync('apps', repository);
    expect(await flux.settled('apps', commit)).toMatchObject({ status: 'True', reason: 'ReconciliationSucceeded' });
    expect(await mood()).toBe('good');
  });

  it('shows why a commit is denied, and leaves what was there', async () => {
    // A policy holds a moment after it was written.
    await eventually(async () => {
      const denied = await kubectl(
        ['create', 'configmap', 'probe', '--from-literal=mood=bad', '--dry-run=server'],
        plane,
      );
      return denied.code !== 0;
    });
    const commit = await repository.commit({ 'settings.yaml': settings('bad') });
    const ready = await flux.settled('apps', commit);
    expect(ready).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
    expect(ready.message).toContain('the mood must not be bad');
    expect(await mood()).toBe('good');
  });

  it('goes on with the next commit, and removes what is no longer in Git', async () => {
    const better = await repository.commit({
      'settings.yaml': settings('better'),
      'more/other.yaml': settings('x').replace('settings', 'other'),
    });
    expect(await flux.settled('apps', better)).toMatchObject({ status: 'True' });
    expect(await mood()).toBe('better');
    const fewer = await repository.commit({ 'more/other.yaml': null });
    expect(await flux.settled('apps', fewer)).toMatchObject({ status: 'True' });
    await eventually(async () => (await kubectl(['get', 'configmap', 'other'], plane)).stderr.includes('not found'));
  });
});
