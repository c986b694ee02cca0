/** A contestant: kidp's runtime. Prints its `Measures`; with `kept` only those of the list, of which it then keeps managedFields too. */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, loadKubeconfig, Reflector } from '../../src/runtime/index.ts';
import type { ListMeasures, Measures } from './main.ts';
import {
  configMaps,
  listed,
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

const [kubeconfig = '', kept] = process.argv.slice(2);
const client = connect(loadKubeconfig({ file: kubeconfig }));

const before = retained();
const cpuBefore = process.cpuUsage();
const started = performance.now();
const reflector = new Reflector({
  client,
  resource: configMaps,
  namespace: listed,
  stripManagedFields: kept !== 'kept',
});
reflector.start();
await reflector.synced();
const listMilliseconds = performance.now() - started;
const listCpu = process.cpuUsage(cpuBefore);
await sleep(500);
const after = retained();
const list: ListMeasures = {
  listMilliseconds,
  listCpuMilliseconds: (listCpu.user + listCpu.system) / 1000,
  heapMegabytes: (after.heap - before.heap) / 1e6,
  residentMegabytes: (after.resident - before.resident) / 1e6,
};
if (kept === 'kept') {
  process.stdout.write(JSON.stringify(list), () => process.exit(0));
  // Nothing else happens before that.
  await new Promise(() => {});
}

const arrivals = new Map<string, (at: number) => void>();
const watching = new Reflector({
  client,
  resource: configMaps,
  namespace: watched,
  handlers: { added: ({ metadata }) => arrivals.get(metadata.name)?.(performance.now()) },
});
watching.start();
await watching.synced();
const times = await timeEvents(openWriter(kubeconfig), arrivals);
const patch = (number: number) =>
  client.patch(
    things,
    { namespace: watched, name: thingOf('ours', number) },
    { type: 'merge', body: statusOf(number) },
    { subresource: 'status' },
  );
const patches = await ratePatches(patch);
const burstPatchesPerSecond = await rateBurst(patch);

const measures: Measures = {
  ...list,
  eventP50Milliseconds: percentile(times, 0.5),
  eventP99Milliseconds: percentile(times, 0.99),
  ...patches,
  burstPatchesPerSecond,
};
process.stdout.write(JSON.stringify(measures));
if (reflector.store.size === 0) throw new Error('nothing was listed');
await Promise.all([reflector.stop(), watching.stop()]);
await client.close();
