/**
 * Compares the pack of the Pod Security Standards with the PodSecurity admission of Kubernetes: both admit and deny the
 * same pods. Each pod is also evaluated with the defaults that the API server sets before it calls a webhook.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AdmissionRequest, Json, World } from '../../src/policy/index.ts';
import {
  ApiError,
  type Client,
  connect,
  type KubernetesObject,
  loadKubeconfig,
  type Resource,
} from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster } from '../support/cluster.ts';
import { readPack, violated } from './support/packs.ts';
import { ephemeralCases, podCases, runningPod } from './support/pods.ts';

const pods: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', namespaced: true };
const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
const baselinePack = readPack('pod-security/baseline');
const restrictedPack = readPack('pod-security/restricted');
const world: World = { now: Date.now(), namespace: () => ({ metadata: {} }), find: () => undefined };

type Level = 'privileged' | 'baseline' | 'restricted';
const inLevel = {} as Record<Level, string>;
let client: Client;

beforeAll(async () => {
  const cluster = sharedCluster();
  client = connect(loadKubeconfig({ file: cluster.kubeconfig }));
  for (const level of ['privileged', 'baseline', 'restricted'] as const) {
    const name = await cluster.uniqueNamespace(`pod-security-${level}`);
    const metadata = { labels: { 'pod-security.kubernetes.io/enforce': level } };
    await client.patch(namespaces, { name }, { type: 'merge', body: { metadata } });
    inLevel[level] = name;
  }
  // The API server observes labels, and controllers create the service account, shortly after the namespace exists.
  const probe = (spec: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'probe' }, spec });
  const open = probe({ hostNetwork: true, containers: [{ name: 'web', image: 'web' }] });
  await eventually(() => create(open, 'privileged'));
  for (const level of ['baseline', 'restricted'] as const) {
    await eventually(() => isRefused(() => create(open, level)));
    await eventually(() => create(probe(runningPod), level));
  }
});
afterAll(async () => {
  await Promise.all(Object.values(inLevel).map((name) => client.delete(namespaces, { name })));
  await client.close();
});

test('the table has pods for every control', () => {
  const named = (level: 'baseline' | 'restricted') =>
    new Set(
      [...podCases, ...ephemeralCases].flatMap((each) =>
        (each[level] ?? []).map((control) => `pod-security-${level}-${control}`),
      ),
    );
  // Since 1.35 the API server itself rejects an unmasked /proc without user namespaces; before, this control denied it.
  const baseline = baselinePack.map(({ model }) => model.name).filter((name) => !name.endsWith('-proc-mount'));
  expect([...named('baseline')].sort()).toEqual(baseline.sort());
  expect([...named('restricted')].sort()).toEqual(restrictedPack.map(({ model }) => model.name).sort());
  expect(podCases.length).toBeGreaterThanOrEqual(40);
});

describe('pods', () => {
  test.each(podCases)('$reason', async ({ spec, annotations, baseline = [], restricted = [] }) => {
    const object = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', ...(annotations === undefined ? {} : { annotations }) },
      spec,
    };
    const shown = await create(object, 'privileged');
    expect(await isRefused(() => create(object, 'baseline'))).toBe(baseline.length > 0);
    expect(await isRefused(() => create(object, 'restricted'))).toBe(baseline.length + restricted.length > 0);

    for (const each of [object, shown as unknown as Json]) {
      const request = createRequest(each);
      expect(violated(baselinePack, request, world)).toEqual(controls('baseline', baseline));
      expect(violated(restrictedPack, request, world)).toEqual(controls('restricted', restricted));
    }
  });
});

test('the API server rejects an unmasked /proc without user namespaces before it evaluates policies', async () => {
  const spec = { containers: [{ name: 'web', image: 'web', securityContext: { procMount: 'Unmasked' } }] };
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
  await expect(create(object, 'privileged')).rejects.toMatchObject({ status: 422 });
  const request = createRequest(object);
  expect(violated(baselinePack, request, world)).toEqual(['pod-security-baseline-proc-mount']);
});

describe('ephemeral containers', () => {
  beforeAll(async () => {
    const object = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'running' }, spec: runningPod };
    for (const level of ['baseline', 'restricted'] as const) await create(object, level, false);
  });

  test.each(ephemeralCases)('$reason', async ({ securityContext, baseline = [], restricted = [] }) => {
    const ephemeralContainers = [{ name: 'debug', image: 'web', securityContext }];
    expect(await isDebugRefused(ephemeralContainers, 'baseline')).toBe(baseline.length > 0);
    expect(await isDebugRefused(ephemeralContainers, 'restricted')).toBe(baseline.length + restricted.length > 0);

    const metadata = { name: 'running' };
    const oldObject = { apiVersion: 'v1', kind: 'Pod', metadata, spec: runningPod };
    const request: AdmissionRequest = {
      uid: 'x',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      subResource: 'ephemeralcontainers',
      operation: 'UPDATE',
      name: 'running',
      namespace: 'n',
      object: { ...oldObject, spec: { ...runningPod, ephemeralContainers } },
      oldObject,
    };
    expect(violated(baselinePack, request, world)).toEqual(controls('baseline', baseline));
    expect(violated(restrictedPack, request, world)).toEqual(controls('restricted', restricted));
  });
});

const createRequest = (object: Json): AdmissionRequest => ({
  uid: 'x',
  kind: { group: '', version: 'v1', kind: 'Pod' },
  operation: 'CREATE',
  name: 'web',
  namespace: 'n',
  object,
});

const controls = (level: string, names: readonly string[]): readonly string[] =>
  names.map((name) => `pod-security-${level}-${name}`).sort();

function create(object: Json, level: Level, dryRun = true): Promise<KubernetesObject> {
  const placed = { ...object, metadata: { ...(object.metadata as object), namespace: inLevel[level] } };
  return client.create(pods, placed as unknown as KubernetesObject, { dryRun });
}

/** Reports whether PodSecurity denies the request; any other error is a fault of the table. */
async function isRefused(write: () => Promise<unknown>): Promise<boolean> {
  try {
    await write();
    return false;
  } catch (error) {
    if (error instanceof ApiError && error.status === 403 && error.message.includes('violates PodSecurity'))
      return true;
    throw error;
  }
}

async function isDebugRefused(ephemeralContainers: readonly Json[], level: Level): Promise<boolean> {
  const { status, text } = await client.request({
    method: 'PATCH',
    path: `/api/v1/namespaces/${inLevel[level]}/pods/running/ephemeralcontainers`,
    query: { dryRun: 'All' },
    contentType: 'application/strategic-merge-patch+json',
    body: { spec: { ephemeralContainers } },
  });
  if (status === 200) return false;
  if (status === 403 && text.includes('violates PodSecurity')) return true;
  throw new Error(text);
}
