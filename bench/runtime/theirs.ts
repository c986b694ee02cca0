/** A contestant: @kubernetes/client-node's informer and typed API, as its documentation uses them. Prints its `Measures`. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CoreV1Api,
  CustomObjectsApi,
  type Informer,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
} from '@kubernetes/client-node';
import type { Measures } from './main.ts';
import {
  listed,
  objectCount,
  percentile,
  rateBurst,
  ratePatches,
  retained,
  statusOf,
  thingOf,
  things,
  timeEvents,
  watched,
} from './objects.ts';
import { openWriter } from './writer.ts';

const kubeconfig = new KubeConfig();
kubeconfig.loadFromFile(process.argv[2] ?? '');
const core = kubeconfig.makeApiClient(CoreV1Api);
const custom = kubeconfig.makeApiClient(CustomObjectsApi);

function informer(namespace: string, onAdd: (object: V1ConfigMap) => void): Informer<V1ConfigMap> {
  const made = makeInformer(kubeconfig, `/api/v1/namespaces/${namespace}/configmaps`, () =>
    core.listNamespacedConfigMap({ namespace }),
  );
  made.on('add', onAdd);
  return made;
}

const before = retained();
const cpuBefore = process.cpuUsage();
const started = performance.now();
let added = 0;
let allThere = () => {};
const there = new Promise<void>((resolve) => {
  allThere = resolve;
});
const cache = informer(listed, () => {
  added += 1;
  if (added === objectCount) allThere();
});
await cache.start();
await there;
const listMilliseconds = performance.now() - started;
const listCpu = process.cpuUsage(cpuBefore);
await sleep(500);
const after = retained();

const arrivals = new Map<string, (at: number) => void>();
const watching = informer(watched, ({ metadata }) => arrivals.get(metadata?.name ?? '')?.(performance.now()));
await watching.start();
await sleep(500);
const times = await timeEvents(openWriter(process.argv[2] ?? ''), arrivals);
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
const { group, version, plural } = things;
const patch = (number: number) =>
  custom.patchNamespacedCustomObjectStatus(
    { group, version, plural, namespace: watched, name: thingOf('theirs', number), body: statusOf(number) },
    merge,
  );
const patches = await ratePatches(patch);
const burstPatchesPerSecond = await rateBurst(patch);

const measures: Measures = {
  listMilliseconds,
  listCpuMilliseconds: (listCpu.user + listCpu.system) / 1000,
  heapMegabytes: (after.heap - before.heap) / 1e6,
  residentMegabytes: (after.resident - before.resident) / 1e6,
  eventP50Milliseconds: percentile(times, 0.5),
  eventP99Milliseconds: percentile(times, 0.99),
  ...patches,
  burstPatchesPerSecond,
};
process.stdout.write(JSON.stringify(measures), () => process.exit(0));
