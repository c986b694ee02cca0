/**
 * From the apply to the broker and back, with the real programs: many objects at once, a steady stream of them, and very many that are
 * ready, of which nothing is asked. The manager and the broker are processes of their own, whose CPU and memory are measured alone; API
 * server, etcd and Kafka share the machine with them.
 *
 * The objects are Secrets of the platform: of each the broker makes one Kubernetes Secret. Ten thousand Deployments would measure the
 * controllers of Kubernetes instead. `--burst`, `--seconds` and `--objects` make it smaller.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { API_VERSION, secret } from '../../src/api/index.ts';
import type { Deployable } from '../../src/reconcile/index.ts';
import { type Client, Reflector } from '../../src/runtime/index.ts';
import { namespace, type Stage, startStage, target, teamName } from './stage.ts';

const steadyRate = 20;
/** Requests of the one who applies, at a time. */
const applying = 64;
const restMilliseconds = 60_000;
const mostMilliseconds = 3_600_000;

interface Target {
  readonly what: string;
  readonly value: number;
  readonly bound: number;
}

/** When each object was applied, by uid, in milliseconds since 1970. */
type Applied = Map<string, number>;

export async function run(flags: readonly string[]): Promise<boolean> {
  const flag = (name: string, otherwise: number) =>
    Number(flags.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? otherwise);
  const [burst, seconds, objects] = [flag('burst', 1_000), flag('seconds', 30), flag('objects', 10_000)];
  const stage = await startStage();
  const say = (line: string) => process.stdout.write(`${line}\n`);
  // Watched and not listed over and over: that would take more of the API server than what is measured.
  const seen = new Reflector<Deployable>({
    client: stage.client,
    resource: secret.resource,
    namespace,
    stripManagedFields: true,
  });
  seen.start();
  try {
    await seen.synced();
    say(`dispatch: ${burst} Secrets of the platform at once, through Kafka, to \`kidp broker kubernetes\``);
    await untilReady(seen, (await applyMany(stage.client, 'warm', 20)).size);
    say(`  the manager before it: ${stage.manager.residentMegabytes().toFixed(0)} MB`);
    const targets: Target[] = [];

    const began = Date.now();
    const cpuBefore = stage.manager.cpuMilliseconds();
    const atOnce = await applyMany(stage.client, 'burst', burst);
    const applied = Date.now() - began;
    await untilReady(seen, 20 + burst);
    say(`  applied in ${(applied / 1000).toFixed(1)} s, all ready after ${((Date.now() - began) / 1000).toFixed(1)} s`);
    const each = (stage.manager.cpuMilliseconds() - cpuBefore) / burst;
    say(`  CPU of the manager for each, from its admission to the status: ${each.toFixed(1)} ms`);
    const burstWait = waits(stage, atOnce);
    say(`  apply to dispatch ${described(burstWait)}`);
    targets.push({
      what: `apply to dispatch, ${burst} at once, p95, s`,
      value: percentile(burstWait, 0.95),
      bound: 10,
    });
    const burstReports = reports(stage, seen, atOnce);
    say(`  report to status ${described(burstReports)}`);
    targets.push({
      what: `report to status, ${burst} at once, p99, s`,
      value: percentile(burstReports, 0.99),
      bound: 5,
    });

    const steady = await applySteadily(stage.client, seconds);
    await untilReady(seen, 20 + burst + steady.size);
    const steadyWait = waits(stage, steady);
    say(`  apply to dispatch at ${steadyRate} a second ${described(steadyWait)}`);
    targets.push({
      what: `apply to dispatch, ${steadyRate} a second, p95, s`,
      value: percentile(steadyWait, 0.95),
      bound: 1,
    });
    const steadyReports = reports(stage, seen, steady);
    targets.push({
      what: `report to status, ${steadyRate} a second, p99, s`,
      value: percentile(steadyReports, 0.99),
      bound: 5,
    });

    const rest = Math.max(0, objects - 20 - burst - steady.size);
    await applyMany(stage.client, 'more', rest);
    await untilReady(seen, 20 + burst + steady.size + rest, say);
    // What is left of the work, and of the garbage.
    await sleep(30_000);
    const { manager, broker } = stage;
    const before = [manager, broker].map((each) => each.cpuMilliseconds());
    await sleep(restMilliseconds);
    const [share = Number.NaN, ofBroker = Number.NaN] = [manager, broker].map(
      (each, index) => ((each.cpuMilliseconds() - (before[index] ?? 0)) / restMilliseconds) * 100,
    );
    say(
      `  ${objects} ready: the manager ${share.toFixed(2)} % of a core, ${manager.residentMegabytes().toFixed(0)} MB; the broker, which watches them for drift, ${ofBroker.toFixed(2)} %, ${broker.residentMegabytes().toFixed(0)} MB`,
    );
    targets.push(
      // Drift is found by the broker: what that costs is part of what the objects cost.
      { what: `${objects} ready, manager and broker: of a core, %`, value: share + ofBroker, bound: 2 },
      { what: `${objects} ready: resident memory, MB`, value: manager.residentMegabytes(), bound: 250 },
    );
    return report(targets);
  } finally {
    await seen.stop();
    await stage.stop();
  }
}

const objectNamed = (name: string): Deployable => ({
  apiVersion: API_VERSION,
  kind: 'Secret',
  metadata: { name, namespace },
  spec: {
    owner: { kind: 'Team', name: teamName },
    targetRef: { name: target },
    keys: [{ name: 'token', generate: {} }],
  },
});

async function applyOne(client: Client, name: string, applied: Applied): Promise<void> {
  const at = Date.now();
  const { metadata } = await client.create<Deployable>(secret.resource, objectNamed(name));
  applied.set(metadata.uid ?? '', at);
}

async function applyMany(client: Client, prefix: string, count: number): Promise<Applied> {
  const applied: Applied = new Map();
  let next = 0;
  const work = async () => {
    for (let index = next++; index < count; index = next++) await applyOne(client, `${prefix}-${index}`, applied);
  };
  await Promise.all(Array.from({ length: applying }, work));
  return applied;
}

/** Whether or not those before it are through. */
async function applySteadily(client: Client, seconds: number): Promise<Applied> {
  const applied: Applied = new Map();
  const began = performance.now();
  const under: Promise<void>[] = [];
  for (let index = 0; index < seconds * steadyRate; index += 1) {
    await sleep(Math.max(0, began + (index * 1000) / steadyRate - performance.now()));
    under.push(applyOne(client, `steady-${index}`, applied));
  }
  await Promise.all(under);
  return applied;
}

type Seen = Reflector<Deployable>;

async function untilReady({ store }: Seen, count: number, say: (line: string) => void = () => {}): Promise<void> {
  const end = Date.now() + mostMilliseconds;
  for (let lastReport = Date.now(); Date.now() < end; ) {
    const ready = store.list().filter(({ status }) => status?.phase === 'ready').length;
    if (ready >= count) return;
    if (Date.now() - lastReport > 30_000) {
      say(`  ${ready} of ${count} are ready`);
      lastReport = Date.now();
    }
    await sleep(500);
  }
  throw new Error(`not all of ${count} objects are ready after an hour`);
}

/** Seconds from the apply to the acknowledgement of the request, by the manager's own log. */
function waits({ manager }: Stage, applied: Applied): number[] {
  const acknowledged = new Map<string, number>();
  for (const { message, uid, action, timestamp } of manager.lines()) {
    if (message !== 'message acknowledged' || action !== 'Deploy' || acknowledged.has(String(uid))) continue;
    acknowledged.set(String(uid), Date.parse(String(timestamp)));
  }
  return [...applied].map(([uid, at]) => ((acknowledged.get(uid) ?? Number.POSITIVE_INFINITY) - at) / 1000);
}

/** `reports` returns the seconds from each `ready` report of the broker to its status update. */
function reports({ manager }: Stage, { store }: Seen, applied: Applied): number[] {
  const reported = new Map<string, number>();
  for (const { message, uid, phase, result, sequence, timestamp } of manager.lines()) {
    if (message !== 'broker report' || phase !== 'ready' || result !== 'applied') continue;
    reported.set(`${uid} ${sequence}`, Date.parse(String(timestamp)));
  }
  return store.list().flatMap(({ metadata, status }) => {
    if (!applied.has(metadata.uid ?? '')) return [];
    const { sequence, time = '' } = status?.lastReport ?? {};
    return [((reported.get(`${metadata.uid} ${sequence}`) ?? Number.POSITIVE_INFINITY) - Date.parse(time)) / 1000];
  });
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

const described = (values: readonly number[]): string =>
  [0.5, 0.95, 0.99].map((part) => `p${part * 100} ${percentile(values, part).toFixed(2)} s`).join(', ');

function report(targets: readonly Target[]): boolean {
  process.stdout.write('\n');
  let met = true;
  for (const { what, value, bound } of targets) {
    const isMet = value <= bound;
    met &&= isMet;
    const cells = [value.toFixed(2).padStart(10), `≤ ${bound}`.padStart(10)];
    process.stdout.write(`${what.padEnd(52)}${cells.join('')}   ${isMet ? 'met' : 'MISSED'}\n`);
  }
  return met;
}
