/** What both contestants read and write, and how they are timed. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, KubernetesObject, Resource } from '../../src/runtime/index.ts';
import type { PatchMeasures } from './main.ts';
import type { Writer } from './writer.ts';

export const objectCount = 10_000;
/** Of which the first are not counted: a controller runs for weeks, and what is measured is not how its code is compiled. */
export const eventCount = 1_200;
export const uncountedEvents = 200;
export const patchCount = 1_000;
export const patchedObjects = 50;
export const patchesAtOnce = 8;
export const listed = 'bench-listed';
export const watched = 'bench-watched';

export const configMaps: Resource = {
  group: '',
  version: 'v1',
  plural: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
/** A custom resource, because its status is what the reconcilers write. */
export const things: Resource = {
  group: 'bench.kidp.dev',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: true,
};
const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};
const namespaces: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };

/** 2 KB as the API server gives it out: labels, an annotation, twelve settings, and the managedFields of their writer. */
function objectOf(index: number): KubernetesObject & { data: Record<string, string> } {
  const data: Record<string, string> = {};
  for (let setting = 0; setting < 12; setting += 1) {
    data[`setting-${setting}`] = `value ${index} of setting ${setting} `.padEnd(70, 'abcdefghij');
  }
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: `object-${index}`,
      namespace: listed,
      labels: { 'app.kubernetes.io/name': 'bench', 'app.kubernetes.io/part-of': 'runtime', team: `team-${index % 20}` },
      annotations: { 'example.com/description': `An object of two kilobytes, number ${index}` },
    },
    data,
  };
}

export async function seed(client: Client): Promise<void> {
  for (const name of [listed, watched]) {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  await seedThings(client);
  let next = 0;
  const write = async () => {
    while (next < objectCount) await client.create(configMaps, objectOf(next++));
  };
  await Promise.all(Array.from({ length: 16 }, write));
}

async function seedThings(client: Client): Promise<void> {
  const { group, version, plural, kind } = things;
  const status = {
    type: 'object',
    properties: { observedGeneration: { type: 'integer' }, phase: { type: 'string' }, writer: { type: 'integer' } },
  };
  await client.create(definitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: definitions.kind,
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, singular: 'thing', kind, listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' }, status } } },
        },
      ],
    },
  } as KubernetesObject);
  const names = writers.flatMap((writer) =>
    Array.from({ length: patchedObjects }, (_, index) => thingOf(writer, index)),
  );
  for (const name of names) {
    const object = {
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name, namespace: watched },
      spec: {},
    };
    // A new resource is served a moment after its definition was taken.
    for (let attempt = 1; ; attempt += 1) {
      try {
        await client.create(things, object);
        break;
      } catch (error) {
        if (attempt === 100) throw error;
        await sleep(100);
      }
    }
  }
}

/**
 * The object that the patch with this number is for, and the status it sets. Everybody has objects of his own: the API server keeps an account of
 * the fields of each that writes one, and with three of them it spends half as much again on every patch.
 */
export const writers = ['bare', 'ours', 'theirs'] as const;
export const thingOf = (writer: (typeof writers)[number], patch: number) => `${writer}-${patch % patchedObjects}`;
export const statusOf = (patch: number) => ({
  status: { observedGeneration: patch, phase: 'Ready', writer: process.pid },
});

export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** Memory that is reachable after everything else was collected. */
export function retained(): { heap: number; resident: number } {
  for (let round = 0; round < 3; round += 1) globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

/** Has `eventCount` objects written one after the other and takes the time of each from the moment before it is sent. */
export async function timeEvents(writer: Writer, arrivals: Map<string, (at: number) => void>): Promise<number[]> {
  const times: number[] = [];
  // The connection of the writer is not what is timed.
  await writer.create(`event-${process.pid}-first`);
  for (let index = 0; index < eventCount; index += 1) {
    const name = `event-${process.pid}-${index}`;
    const arrived = new Promise<number>((resolve) => arrivals.set(name, resolve));
    const sent = performance.now();
    await writer.create(name);
    const time = (await arrived) - sent;
    if (index >= uncountedEvents) times.push(time);
    arrivals.delete(name);
  }
  writer.end();
  return times;
}

/** The rate of `patchCount` patches one after the other and `patchesAtOnce` at a time, and the CPU that each takes in this process. */
export async function ratePatches(patch: Patch): Promise<PatchMeasures> {
  const cpu = process.cpuUsage();
  const patchesPerSecond = await rate(patch, 1);
  const patchesAtOncePerSecond = await rate(patch, patchesAtOnce);
  const { user, system } = process.cpuUsage(cpu);
  return {
    patchesPerSecond,
    patchesAtOncePerSecond,
    patchCpuMilliseconds: (user + system) / 1000 / (2 * patchCount),
  };
}

/** The rate where the client is given all of them at once, as after a change that every object hears of: what it makes of that is its own. */
export const rateBurst = (patch: Patch): Promise<number> => rate(patch, patchCount);

type Patch = (number: number) => Promise<unknown>;

async function rate(patch: Patch, atOnce: number): Promise<number> {
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < patchCount) await patch(next++);
    }),
  );
  return patchCount / ((performance.now() - started) / 1000);
}
