/** Definitions that are committed come into the cluster through real Flux, past the gate on a real API server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { eventually, type UnknownObject } from '../../src/runtime/index.ts';
import { definitions } from '../admission/support/platform.ts';
import {
  type Definition,
  type GatePlane,
  objectOf,
  patient,
  resourceOf,
  size,
  startGatePlane,
  widgets,
} from '../crd-gate/support.ts';
import { type Flux, startFlux } from '../support/flux.ts';
import { type GitRepository, type GitServer, serveGit } from '../support/git-server.ts';

let plane: GatePlane;
let flux: Flux;
let server: GitServer;
let repository: GitRepository;

beforeAll(async () => {
  plane = await startGatePlane();
  // Not as whom the platform itself works: it may do what others may not.
  const kubeconfig = await plane.plane.kubeconfigFor({ name: 'flux', groups: ['system:masters'] });
  [flux, server] = await Promise.all([startFlux({ kubeconfig }), serveGit(), plane.gate()]);
  repository = await server.repository('platform');
});
afterAll(async () => {
  await flux?.stop();
  await server?.close();
  await plane?.stop();
});

const before = widgets('committed', size({ maximum: 20 }));
const large = objectOf(before, 'large', { size: 15 });
const mood = (value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'default' },
  data: { mood: value },
});
const commit = (definition: Definition | undefined, ...others: object[]) =>
  repository.commit({
    'definition.yaml': definition === undefined ? null : stringify(definition),
    'others.yaml': others.map((each) => stringify(each)).join('---\n'),
  });
const configMaps = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespaced: true };
const landed = async (): Promise<UnknownObject[]> => [
  await plane.client.get(definitions, { name: before.metadata.name }),
  await plane.client.get(resourceOf(before), { namespace: 'default', name: 'large' }),
  await plane.client.get(configMaps, { namespace: 'default', name: 'settings' }),
];
/** Every write to one of them would show here. */
const versions = async () => (await landed()).map(({ metadata }) => metadata.resourceVersion);

// Each test goes on from the commit that the one before has made.
test('a definition, an object of it and what goes with them land', async () => {
  const first = await commit(before, large, mood('good'));
  await flux.sync('platform', repository);
  expect(await flux.settled('platform', first)).toMatchObject({ status: 'True' });
  await eventually(landed, patient);
});

test('a commit with a breaking change: not ready, with what breaks and what to do, and nothing is touched', async () => {
  const was = await versions();
  const narrow = await commit(widgets('committed', size({ maximum: 10 })), large, mood('bad'));
  const ready = await flux.settled('platform', narrow);
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
  expect(await flux.settled('platform', wide)).toMatchObject({ status: 'True' });
  const [definition, object, settings] = await landed();
  expect(JSON.stringify(definition?.spec)).toContain('"maximum":30');
  expect(object?.spec).toEqual({ size: 25 });
  expect(settings?.data).toEqual({ mood: 'better' });
});

test('a commit without the definition: Flux deletes what it applied, but not what still has objects of others', async () => {
  await plane.client.create(resourceOf(before), objectOf(before, 'by-hand', { size: 1 }));
  const without = await commit(undefined, mood('lonely'));
  const ready = await flux.settled('platform', without);
  expect(ready).toMatchObject({ status: 'False' });
  expect(ready.message).toMatch(/there (?:are|is) \d objects? of it/);
  expect(await plane.client.get(definitions, { name: before.metadata.name })).toBeDefined();
  expect(await plane.client.get(resourceOf(before), { namespace: 'default', name: 'by-hand' })).toBeDefined();
});
