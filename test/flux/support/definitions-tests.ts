/** Real Flux applies committed CRDs to a real API server with the CRD gate. */
import { beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { Client, UnknownObject } from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';
import { definitions } from '../../admission/support/platform.ts';
import { type Definition, objectOf, patient, resourceOf, size, widgets } from '../../crd-gate/support/platform.ts';
import { type Flux, kustomizations } from '../../support/flux.ts';
import type { GitRepository } from '../../support/git-server.ts';
import type { FluxStage } from './stage.ts';

const before = widgets('committed', size({ maximum: 20 }));
const large = objectOf(before, 'large', { size: 15 });
const mood = (value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'mood', namespace: 'default' },
  data: { mood: value },
});
const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };

export function definitionTests(running: () => FluxStage): void {
  describe('a repository of definitions', () => {
    let client: Client;
    let flux: Flux;
    let repository: GitRepository;
    beforeAll(async () => {
      const stage = running();
      ({ flux } = stage);
      ({ client } = stage.live);
      repository = await stage.server.repository('definitions');
    });

    const commit = (definition: Definition | undefined, ...others: object[]) =>
      repository.commit({
        'definition.yaml': definition === undefined ? null : stringify(definition),
        'others.yaml': others.map((each) => stringify(each)).join('---\n'),
      });
    const landed = async (): Promise<UnknownObject[]> => [
      await client.get(definitions, { name: before.metadata.name }),
      await client.get(resourceOf(before), { namespace: 'default', name: 'large' }),
      await client.get(configMaps, { namespace: 'default', name: 'mood' }),
    ];
    /** Every write to one of them would change these versions. */
    const versions = async () => (await landed()).map(({ metadata }) => metadata.resourceVersion);

    // Each test continues from the commit of the previous one.
    test('a definition, an object of it and what goes with them land', async () => {
      const first = await commit(before, large, mood('good'));
      await flux.sync('definitions', repository);
      expect(await flux.settled('definitions', first)).toMatchObject({ status: 'True' });
      await eventually(landed, patient);
    });

    test('a commit with a breaking change: not ready, with what breaks and what to do, and nothing is touched', async () => {
      const was = await versions();
      const narrow = await commit(widgets('committed', size({ maximum: 10 })), large, mood('worse'));
      const ready = await flux.settled('definitions', narrow);
      expect(ready).toMatchObject({ status: 'False', reason: 'ReconciliationFailed' });
      expect(ready.message).toContain('CustomResourceDefinition/committed.gate.example.com dry-run failed (Forbidden)');
      expect(ready.message).toContain('1 breaking change; 1 of 1 stored object would break, first: default/large');
      expect(ready.message).toMatch(/v1 \.spec\.size \(maximum-lowered\)/);
      expect(ready.message).toMatch(/Approval with spec\.subject .* digest: "sha256:[0-9a-f]{64}"/);
      expect(await versions()).toEqual(was);
    });

    test('a safe commit after it: ready, and all of it has landed', async () => {
      const wide = await commit(
        widgets('committed', size({ maximum: 30 })),
        { ...large, spec: { size: 25 } },
        mood('better'),
      );
      expect(await flux.settled('definitions', wide)).toMatchObject({ status: 'True' });
      const [definition, object, settings] = await landed();
      expect(JSON.stringify(definition?.spec)).toContain('"maximum":30');
      expect(object?.spec).toEqual({ size: 25 });
      expect(settings?.data).toEqual({ mood: 'better' });
    });

    test('a commit without the definition: Flux deletes what it applied, but not what still has objects of others', async () => {
      await client.create(resourceOf(before), objectOf(before, 'by-hand', { size: 1 }));
      // Flux forgets objects that it could not delete and reports success on the next attempt, which must not happen
      // before this check.
      const body = { spec: { retryInterval: '30m' } };
      await client.patch(kustomizations, { namespace: flux.namespace, name: 'definitions' }, { type: 'merge', body });
      const without = await commit(undefined, mood('lonely'));
      const ready = await flux.settled('definitions', without);
      expect(ready).toMatchObject({ status: 'False' });
      expect(ready.message).toMatch(/\d objects? exists?, first: /);
      expect(await client.get(definitions, { name: before.metadata.name })).toBeDefined();
      expect(await client.get(resourceOf(before), { namespace: 'default', name: 'by-hand' })).toBeDefined();
    });
  });
}
