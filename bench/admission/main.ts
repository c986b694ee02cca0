/**
 * Admission side by side, on one real API server, in one run: dry-run creates of a Deployment by 8 clients, without a policy, with a
 * webhook that answers without looking, with native policies, and with this webhook. Turn by turn; medians of the turns, and ratios
 * within each turn, because the machine may be busier in the next. Then the webhook alone, over TLS, at a steady rate.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { crdFor, kinds, policy as policyKind } from '../../src/api/index.ts';
import { startControlPlane } from '../../src/controlplane/index.ts';
import { type Client, connect, type KubernetesObject, loadKubeconfig, type Resource } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { admissionReview } from '../../test/support/review.ts';
import { type Contestant, register, startContestant, steadily } from './contestant.ts';
import { deployment, matching, native, other } from './policies.ts';

const clients = 8;
const steadyRate = 500;

const registration = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
const nativePolicies: Resource = {
  ...registration,
  plural: 'validatingadmissionpolicies',
  kind: 'ValidatingAdmissionPolicy',
};
const nativeBindings: Resource = {
  ...registration,
  plural: 'validatingadmissionpolicybindings',
  kind: 'ValidatingAdmissionPolicyBinding',
};
const deployments: Resource = {
  group: 'apps',
  version: 'v1',
  plural: 'deployments',
  kind: 'Deployment',
  namespaced: true,
};
const definitions: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  namespaced: false,
};

/** One way for a Deployment to be judged: put in place before it is measured, and taken away after. */
interface Way {
  readonly name: string;
  place(): Promise<() => Promise<unknown>>;
}

interface Target {
  readonly what: string;
  readonly value: number;
  readonly text: string;
  readonly isMet: boolean;
}

export async function run(flags: readonly string[]): Promise<boolean> {
  const flag = (name: string, otherwise: number) =>
    Number(flags.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? otherwise);
  const [turns, seconds] = [flag('turns', 5), flag('seconds', 3)];
  const plane = await startControlPlane({ webhooks: ['*'] });
  const start = (...words: readonly ['empty' | 'ours', ...string[]]) =>
    startContestant(plane.webhookAuthority ?? '', ...words);
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  const contestants: Contestant[] = [];
  const started = async (...words: Parameters<typeof start>) => {
    const contestant = await start(...words);
    contestants.push(contestant);
    return contestant;
  };
  try {
    const empty = await started('empty');
    const ours = {
      10: await started('ours', '10', '10'),
      100: await started('ours', '100', '100'),
      1000: await started('ours', '1000', '1000'),
    };
    const alone = await started('ours', '100', '0');
    const crowded = await started('ours', '100', '1000');
    const ways: Way[] = [
      { name: 'no policy', place: async () => async () => {} },
      webhook('empty webhook', client, empty),
      ...[10, 100].map((count) => natively(client, count)),
      ...([10, 100, 1000] as const).map((count) => webhook(`this webhook, ${count}`, client, ours[count])),
      webhook('this webhook, 100 and none that do not match', client, alone),
      webhook('this webhook, 100 and 1,000 that do not match', client, crowded),
    ];
    const rates = await measureAll(ways, client, turns, seconds);
    const targets = [...throughput(ways, rates), ...(await steady(empty, ours[100], turns, seconds))];
    await Promise.all(contestants.splice(0).map((each) => each.stop()));
    targets.push(...(await atRest(client, () => start('ours', '0', '0', plane.kubeconfig))));
    return report(targets);
  } finally {
    await Promise.all(contestants.map((each) => each.stop()));
    await client.close();
    await plane.stop();
  }
}

function webhook(name: string, client: Client, contestant: Contestant): Way {
  return { name, place: () => register(client, contestant) };
}

function natively(client: Client, count: number): Way {
  return {
    name: `native policies, ${count}`,
    async place() {
      const all = Array.from({ length: count }, (_, index) => native(index));
      for (const { policy, binding } of all) {
        await client.create(nativePolicies, policy as KubernetesObject);
        await client.create(nativeBindings, binding as KubernetesObject);
      }
      // Forbidden by the last of them alone.
      const wrong = structuredClone(deployment);
      for (const container of wrong.spec.template.spec.containers.slice(0, 1))
        container.name = `forbidden-${count - 1}`;
      const last = () => client.create(deployments, wrong, { dryRun: true });
      await eventually(
        () =>
          last().then(
            () => false,
            (error: Error) => error.message.includes(`bench-${count - 1}`),
          ),
        {
          within: 60_000,
        },
      );
      return async () => {
        for (const { policy } of all) {
          await client.delete(nativeBindings, { name: policy.metadata.name });
          await client.delete(nativePolicies, { name: policy.metadata.name });
        }
        await eventually(
          () =>
            last().then(
              () => true,
              () => false,
            ),
          { within: 60_000 },
        );
      };
    },
  };
}

async function measureAll(
  ways: readonly Way[],
  client: Client,
  turns: number,
  seconds: number,
): Promise<Map<string, number[]>> {
  const rates = new Map<string, number[]>();
  await rate(client, seconds);
  for (let turn = 0; turn < turns; turn += 1) {
    // Each in another place every time: nobody is always the one after the slowest.
    const order = ways.map((_, index) => ways[(index + turn * 2) % ways.length] as Way);
    for (const { name, place } of order) {
      const remove = await place();
      // An API server hears of its webhooks by a watch.
      await sleep(1000);
      await rate(client, 0.7);
      const perSecond = await rate(client, seconds);
      await remove();
      await sleep(500);
      rates.set(name, [...(rates.get(name) ?? []), perSecond]);
      process.stdout.write(`  turn ${turn + 1} of ${turns}, ${name}: ${perSecond.toFixed(0)} creates/s\n`);
    }
  }
  return rates;
}

/** Creates a second, by so many clients at once. */
async function rate(client: Client, seconds: number): Promise<number> {
  const began = performance.now();
  const end = began + seconds * 1000;
  let made = 0;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < end) {
        await client.create(deployments, deployment, { dryRun: true });
        made += 1;
      }
    }),
  );
  return made / ((performance.now() - began) / 1000);
}

function throughput(ways: readonly Way[], rates: ReadonlyMap<string, readonly number[]>): Target[] {
  const of = (name: string) => rates.get(name) ?? [];
  const ratio = (one: string, other: string) =>
    median(of(one).map((value, turn) => value / (of(other)[turn] ?? Number.NaN)));
  process.stdout.write(
    '\nmedians                                              creates/s   to no policy   to empty webhook\n',
  );
  for (const { name } of ways) {
    const cells = [
      median(of(name)).toFixed(0),
      ratio(name, 'no policy').toFixed(2),
      ratio(name, 'empty webhook').toFixed(2),
    ];
    process.stdout.write(`${name.padEnd(52)}${cells.map((cell) => cell.padStart(10)).join('     ')}\n`);
  }
  const crowd = ratio('this webhook, 100 and 1,000 that do not match', 'this webhook, 100 and none that do not match');
  return [
    atLeast('100 matching policies, to the empty webhook', ratio('this webhook, 100', 'empty webhook'), 0.88),
    atLeast('1,000 matching policies, to the empty webhook', ratio('this webhook, 1000', 'empty webhook'), 0.75),
    atLeast('100 matching policies, to 100 native ones', ratio('this webhook, 100', 'native policies, 100'), 13),
    atLeast('1,000 policies more that do not match, to none', crowd, 0.95),
  ];
}

/** The webhook alone. */
async function steady(empty: Contestant, ours: Contestant, turns: number, seconds: number): Promise<Target[]> {
  const body = JSON.stringify(
    admissionReview({
      kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      name: 'bench',
      namespace: 'default',
      operation: 'CREATE',
      object: deployment,
      oldObject: null,
      dryRun: true,
      options: { apiVersion: 'meta.k8s.io/v1', kind: 'CreateOptions' },
    }),
  );
  const load = { perSecond: steadyRate, seconds: Math.max(seconds, 4), body };
  const p99s: { empty: number[]; ours: number[] } = { empty: [], ours: [] };
  for (const each of [empty, ours]) await steadily(each, { ...load, seconds: 2 });
  const before = { empty: empty.cpuMilliseconds(), ours: ours.cpuMilliseconds() };
  for (let turn = 0; turn < turns; turn += 1) {
    for (const name of turn % 2 === 0 ? (['empty', 'ours'] as const) : (['ours', 'empty'] as const)) {
      p99s[name].push(percentile(await steadily(name === 'empty' ? empty : ours, load), 0.99));
    }
  }
  process.stdout.write(
    `\nalone at ${steadyRate} reviews/s, p99: empty ${median(p99s.empty).toFixed(2)} ms, this webhook with 100 matching policies ${median(p99s.ours).toFixed(2)} ms\n`,
  );
  const reviews = turns * load.perSecond * load.seconds;
  const cost = (each: Contestant, since: number) => (((each.cpuMilliseconds() - since) * 1000) / reviews).toFixed(0);
  process.stdout.write(
    `CPU a review: empty ${cost(empty, before.empty)} µs, this webhook ${cost(ours, before.ours)} µs\n`,
  );
  const ratio = median(p99s.ours.map((value, turn) => value / (p99s.empty[turn] ?? Number.NaN)));
  return [atMost('p99 alone, to the empty webhook', ratio, 2)];
}

/** With the policies of a cluster: how soon it is ready, and what it holds after some work. */
async function atRest(client: Client, startLive: () => Promise<Contestant>): Promise<Target[]> {
  for (const kind of kinds) await client.apply(definitions, crdFor(kind), { fieldManager: 'bench' });
  await Promise.all(kinds.map(({ resource }) => eventually(() => client.list(resource), { within: 60_000 })));
  const objects = Array.from({ length: 500 }, (_, index) => [matching(index), other(index)]).flat();
  let next = 0;
  const write = async () => {
    for (let object = objects[next++]; object !== undefined; object = objects[next++])
      await client.create(policyKind.resource, object as KubernetesObject);
  };
  await Promise.all(Array.from({ length: clients }, write));
  const ready: number[] = [];
  for (let start = 0; start < 3; start += 1) {
    const contestant = await startLive();
    ready.push(contestant.readyMilliseconds ?? Number.NaN);
    if (contestant.policies !== objects.length)
      throw new Error(`${contestant.policies} policies, not ${objects.length}`);
    if (start < 2) {
      await contestant.stop();
      continue;
    }
    const remove = await register(client, contestant);
    await sleep(1000);
    await rate(client, 5);
    await remove();
    const resident = contestant.residentMegabytes();
    await contestant.stop();
    return [
      atMost('ready with 1,000 policies of the cluster, s', median(ready) / 1000, 2),
      atMost('resident memory with 1,000 policies, MB', resident, 200),
    ];
  }
  return [];
}

const atLeast = (what: string, value: number, bound: number): Target => ({
  what,
  value,
  text: `≥ ${bound}`,
  isMet: value >= bound,
});
const atMost = (what: string, value: number, bound: number): Target => ({
  what,
  value,
  text: `≤ ${bound}`,
  isMet: value <= bound,
});

function report(targets: readonly Target[]): boolean {
  process.stdout.write('\n');
  for (const { what, value, text, isMet } of targets) {
    const verdict = isMet ? 'met' : 'MISSED';
    process.stdout.write(`${what.padEnd(52)}${value.toFixed(2).padStart(10)}${text.padStart(10)}   ${verdict}\n`);
  }
  return targets.every(({ isMet }) => isMet);
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
