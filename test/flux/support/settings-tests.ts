/**
 * Tests Flux itself, without the platform: committed objects are applied, denied objects are not, and removed objects
 * are pruned.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Client, isNotFound, type KubernetesObject, type Resource } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { patient } from '../../live-policies/support/platform.ts';
import type { Flux } from '../../support/flux.ts';
import type { GitRepository } from '../../support/git-server.ts';
import type { FluxStage } from './stage.ts';

const configMaps: Resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const admission = (kind: string, plural: string): Resource => ({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural,
  kind,
  namespaced: false,
});
const metadata = { name: 'no-bad-settings' };

/** Denies a ConfigMap that is marked as bad, with its own reason. */
const policy = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata,
  spec: {
    matchConstraints: {
      resourceRules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['configmaps'] },
      ],
    },
    validations: [{ expression: "object.?data.mood.orValue('') != 'bad'", message: 'the mood must not be bad' }],
  },
};
const binding = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata,
  spec: { policyName: metadata.name, validationActions: ['Deny'] },
};

const settings = (mood: string, name = 'settings') => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { mood },
});
/** JSON is valid YAML. */
const text = (object: object) => JSON.stringify(object);

export function settingTests(running: () => FluxStage): void {
  describe('Flux on the control plane', () => {
    let client: Client;
    let flux: Flux;
    let repository: GitRepository;

    beforeAll(async () => {
      const stage = running();
      ({ flux } = stage);
      ({ client } = stage.live);
      repository = await stage.server.repository('settings');
      await client.create(admission(policy.kind, 'validatingadmissionpolicies'), policy as KubernetesObject);
      await client.create(admission(binding.kind, 'validatingadmissionpolicybindings'), binding as KubernetesObject);
    });

    const mood = async () => {
      const { data } = await client.get(configMaps, { namespace: 'default', name: 'settings' });
      return (data as { mood?: string }).mood;
    };

    test('lands what is committed', async () => {
      const commit = await repository.commit({ 'settings.yaml': text(settings('good')) });
      await flux.sync('settings', repository);
      expect(await flux.settled('settings', commit)).toMatchObject({
        status: 'True',
        reason: 'ReconciliationSucceeded',
      });
      expect(await mood()).toBe('good');
    });

    test('shows why a commit is denied, and leaves what was there', async () => {
      // A policy is enforced shortly after it was written.
      await expect
        .poll(() => client.create(configMaps, settings('bad', 'probe'), { dryRun: true }).then(() => '', String))
        .toContain('the mood must not be bad');
      const commit = await repository.commit({ 'settings.yaml': text(settings('bad')) });
      const ready = await flux.settled('settings', commit);
      expect(ready).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
      expect(ready.message).toContain('the mood must not be bad');
      expect(await mood()).toBe('good');
    });

    test('goes on with the next commit, and removes what is no longer in Git', async () => {
      const better = await repository.commit({
        'settings.yaml': text(settings('better')),
        'more/other.yaml': text(settings('x', 'other')),
      });
      expect(await flux.settled('settings', better)).toMatchObject({ status: 'True' });
      expect(await mood()).toBe('better');
      const fewer = await repository.commit({ 'more/other.yaml': null });
      expect(await flux.settled('settings', fewer)).toMatchObject({ status: 'True' });
      await eventually(
        () => client.get(configMaps, { namespace: 'default', name: 'other' }).then(() => false, isNotFound),
        patient,
      );
    });
  });
}
