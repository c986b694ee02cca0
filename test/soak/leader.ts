/**
 * Leader election under fire: two processes, the leader killed with SIGKILL or stopped with SIGSTOP at a random moment while it
 * writes as fast as it can, or may: creations, and statuses over exactly the version that is there. What the API server stored is the
 * judge: in the order of its resourceVersions, the term of the writer never goes back. And the other one leads within lease duration + one retry period.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { startControlPlane } from '../../src/controlplane/index.ts';
import { type Client, connect, type KubernetesObject, loadKubeconfig } from '../../src/runtime/index.ts';
import { type Lease, leases } from '../../src/runtime/internal.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { exitError, watchProcess } from '../support/test-process.ts';

const timing = { leaseDurationMilliseconds: 3000, renewDeadlineMilliseconds: 2000, retryPeriodMilliseconds: 500 };
/** A takeover is read off two wall-clock times of two processes, either of which may wait for a core first. */
const granularity = 50;
/** What candidates write; see there. */
const ingresses = {
  group: 'networking.k8s.io',
  version: 'v1',
  plural: 'ingresses',
  kind: 'Ingress',
  namespaced: true,
};
const namespaces = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace', namespaced: false };
const program = join(import.meta.dirname, '..', 'runtime', 'support', 'candidate.ts');

export interface LeaderRun {
  rounds: number;
  log: (line: string) => void;
  /** Of a cluster to run on; without it one is started. */
  kubeconfig?: string;
  /** How much longer than promised a takeover may take before the run fails; by default only what measuring it needs. */
  slackMilliseconds?: number;
  /** Between two writes of a writer; by default none, and the API server has all the work it can do. */
  pauseMilliseconds?: number;
}

export interface LeaderReport {
  rounds: number;
  /** Of leaders that were hurt. */
  writes: number;
  /** Those of them that replaced one version and no other. */
  swaps: number;
  takeovers: { median: number; longest: number; promised: number };
  /** Leaders that lost their lease though nobody hurt them: allowed, but a sign of a starved machine. */
  unprovoked: number;
}

export async function run({
  rounds,
  log,
  kubeconfig,
  slackMilliseconds = granularity,
  pauseMilliseconds = 0,
}: LeaderRun): Promise<LeaderReport> {
  const controlPlane = kubeconfig === undefined ? await startControlPlane() : undefined;
  const config = kubeconfig ?? controlPlane?.kubeconfig ?? '';
  const client = connect(loadKubeconfig({ file: config }));
  const namespace = `leader-${randomBytes(4).toString('hex')}`;
  const contest = new Contest(config, namespace, pauseMilliseconds);
  const promised = timing.leaseDurationMilliseconds + timing.retryPeriodMilliseconds;
  const takeovers: number[] = [];
  let writes = 0;
  let swaps = 0;
  try {
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    contest.join();
    contest.join();
    for (let round = 1; round <= rounds; round += 1) {
      const fault = round % 2 === 1 ? 'SIGKILL' : 'SIGSTOP';
      const takeover = await hurtTheLeader(contest, fault, client);
      takeovers.push(takeover);
      if (takeover > promised + slackMilliseconds) {
        throw new Error(
          `round ${round}, ${fault}: the other took over after ${Math.round(takeover)} ms, not ${promised}`,
        );
      }
      const judged = await judge(client, namespace);
      writes += judged.writes;
      swaps += judged.swaps;
      log(
        `round ${round} ${fault}: ${judged.writes} writes, takeover after ${Math.round(takeover)} ms (promised ${promised})`,
      );
    }
  } finally {
    await contest.end();
    await client.delete(namespaces, { name: namespace }).catch(() => undefined);
    await client.close();
    await controlPlane?.stop();
  }
  takeovers.sort((a, b) => a - b);
  const report = {
    rounds,
    writes,
    swaps,
    takeovers: {
      median: Math.round(takeovers[takeovers.length >> 1] ?? 0),
      longest: Math.round(takeovers.at(-1) ?? 0),
      promised,
    },
    unprovoked: contest.unprovoked,
  };
  log(JSON.stringify(report));
  return report;
}

/** Returns the milliseconds from the fault to the next acquisition, as the lease records it. */
async function hurtTheLeader(contest: Contest, fault: 'SIGKILL' | 'SIGSTOP', client: Client): Promise<number> {
  const leader = await contest.leader();
  // The other one is up and writes are under way; then at no particular moment.
  await contest.standby(leader);
  await firstWrite(client, contest.namespace, `writer=${leader.identity}`, leader);
  await sleep(Math.random() * 1000);
  if (hasEnded(leader)) return hurtTheLeader(contest, fault, client);
  leader.hurt = true;
  const at = Date.now();
  leader.child.kill(fault);
  const next = await contest.leader(leader);
  const lease = await client.get<Lease>(leases, { namespace: contest.namespace, name: 'leader' });
  const acquired = lease.spec?.holderIdentity === next.identity ? Date.parse(lease.spec.acquireTime ?? '') : next.at;
  // Only a write after the new leader's first write is known to be late.
  await firstWrite(client, contest.namespace, `writer!=${leader.identity},term`);
  await sleep(Math.random() * 500);
  if (fault === 'SIGSTOP') leader.child.kill('SIGCONT');
  // It wakes, tries a few hundred writes more, and exits; meanwhile the new leader writes.
  await leader.exited;
  if (fault === 'SIGSTOP' && leader.child.exitCode !== 1) {
    throw new Error(
      `the stopped leader ended with ${leader.child.exitCode}, it should exit with 1 once its lease is lost`,
    );
  }
  return acquired - at;
}

/** Waits for a write of the sort, or for the end of who should make it. */
function firstWrite(client: Client, namespace: string, labelSelector: string, of?: Candidate): Promise<boolean> {
  return eventually(
    async () => {
      const { items } = await client.list(ingresses, { namespace, labelSelector, limit: 1 });
      return items.length > 0 || (of !== undefined && hasEnded(of));
    },
    { within: 180_000 },
  );
}

/** Throws unless the terms of the writes are in order. Clears those of leaders that are gone. */
async function judge(client: Client, namespace: string): Promise<{ writes: number; swaps: number }> {
  const stored: { version: bigint; term: number; name: string; writer: string; swapped: boolean }[] = [];
  let token: string | undefined;
  do {
    const page = await client.list<Ingress>(ingresses, {
      namespace,
      labelSelector: 'term',
      limit: 500,
      ...(token === undefined ? {} : { continue: token }),
    });
    for (const { metadata, status } of page.items) {
      stored.push({
        version: BigInt(metadata.resourceVersion ?? '0'),
        term: Number(metadata.labels?.term),
        writer: metadata.labels?.writer ?? '',
        name: metadata.name,
        swapped: status?.loadBalancer?.ingress !== undefined,
      });
    }
    token = page.metadata.continue;
  } while (token !== undefined && token !== '');
  stored.sort((a, b) => (a.version < b.version ? -1 : 1));
  stored.reduce((before, write) => {
    if (write.term < before.term) {
      throw new Error(
        `two acted at once: ${write.name} (term ${write.term}, resourceVersion ${write.version}) was written after ` +
          `${before.name} (term ${before.term}, resourceVersion ${before.version})`,
      );
    }
    return write;
  }, stored[0] ?? { version: 0n, term: -1, name: '', writer: '', swapped: false });
  const ended = stored.filter(({ term }) => term < (stored.at(-1)?.term ?? 0));
  if (ended.length === 0) throw new Error('the leader that was hurt had written nothing: the round shows nothing');
  for (const writer of new Set(ended.map((write) => write.writer))) await clear(client, namespace, `writer=${writer}`);
  const swaps = ended.filter(({ swapped }) => swapped).length;
  return { writes: ended.length + swaps, swaps };
}

interface Ingress extends KubernetesObject {
  status?: { loadBalancer?: { ingress?: unknown[] } };
}

/** In portions: a busy server may take longer for thousands at once than one request may last. */
async function clear(client: Client, namespace: string, labelSelector: string): Promise<void> {
  for (;;) {
    const { items } = await client.list(ingresses, { namespace, labelSelector, limit: 1 });
    if (items.length === 0) return;
    await client.request({
      method: 'DELETE',
      path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`,
      query: { labelSelector, limit: '200' },
    });
  }
}

interface Candidate {
  readonly identity: string;
  readonly child: ChildProcess;
  readonly exited: Promise<unknown>;
  started: boolean;
  leading: boolean;
  at: number;
  hurt: boolean;
}

function hasEnded({ child }: Candidate): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** The processes: always two, a new one for each that ended. */
class Contest {
  readonly namespace: string;
  unprovoked = 0;
  readonly #kubeconfig: string;
  readonly #pauseMilliseconds: number;
  readonly #candidates = new Set<Candidate>();
  readonly #failure = Promise.withResolvers<never>();
  #ending = false;

  constructor(kubeconfig: string, namespace: string, pauseMilliseconds: number) {
    this.#kubeconfig = kubeconfig;
    this.namespace = namespace;
    this.#pauseMilliseconds = pauseMilliseconds;
    this.#failure.promise.catch(() => undefined);
  }

  join(): void {
    const identity = `c${randomBytes(4).toString('hex')}`;
    const words = [this.#kubeconfig, this.namespace, identity, JSON.stringify(timing), String(this.#pauseMilliseconds)];
    const child = spawn(process.execPath, ['--no-warnings', program, ...words], { stdio: ['pipe', 'pipe', 'inherit'] });
    const watched = watchProcess(`candidate ${identity}`, child);
    const { exited } = watched;
    const candidate: Candidate = { identity, child, exited, started: false, leading: false, at: 0, hurt: false };
    this.#candidates.add(candidate);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said: { event: string; at?: number } = JSON.parse(line);
      candidate.started = true;
      if (said.event === 'leading') Object.assign(candidate, { leading: true, at: said.at });
      if (said.event === 'lost') candidate.leading = false;
    });
    void exited.then((exit) => {
      this.#candidates.delete(candidate);
      if (this.#ending) return;
      // A program that cannot even start would be started forever.
      if (!candidate.started && !candidate.hurt) return this.#failure.reject(exitError(watched, exit));
      if (!candidate.hurt) this.unprovoked += 1;
      this.join();
    });
  }

  /** The one that leads, other than this one. */
  leader(except?: Candidate): Promise<Candidate> {
    const leading = () => this.#find((candidate) => candidate.leading && candidate !== except);
    return Promise.race([eventually(leading, { within: 180_000, every: 20 }), this.#failure.promise]);
  }

  /** Another one that is up and contends. */
  standby(leader: Candidate): Promise<Candidate> {
    const standby = () => this.#find((candidate) => candidate.started && candidate !== leader);
    return Promise.race([eventually(standby, { within: 180_000 }), this.#failure.promise]);
  }

  async end(): Promise<void> {
    this.#ending = true;
    const all = [...this.#candidates];
    for (const { child } of all) child.kill('SIGKILL');
    await Promise.all(all.map(({ exited }) => exited));
  }

  #find(wanted: (candidate: Candidate) => boolean): Candidate | false {
    return [...this.#candidates].find((candidate) => !hasEnded(candidate) && wanted(candidate)) ?? false;
  }
}
