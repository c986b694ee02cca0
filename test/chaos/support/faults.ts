/**
 * Plans and injects faults. The plan depends only on the seed, so that a run can be repeated as far as a machine allows. Each fault ends
 * before the run does.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from './program.ts';
import type { Random } from './random.ts';
import type { Stage } from './stage.ts';

/** `leader` is the replica that leads at that moment, `standby` the other one. For a broker, it is the leading instance. */
export type Victim = 'leader' | 'standby' | 'cluster-broker' | 'kafka-broker' | 'kafka' | 'api-server';

export interface Fault {
  readonly victim: Victim;
  /** `kill` is SIGKILL and a later restart; `pause` is SIGSTOP and SIGCONT. */
  readonly how: 'kill' | 'pause';
  /** Milliseconds after the start of the run. */
  readonly at: number;
  readonly lasts: number;
}

export interface PlanOptions {
  readonly milliseconds: number;
  readonly victims: readonly Victim[];
  /** The longest pause between two faults. */
  readonly pauseMilliseconds: number;
  /** The longest time for which a process is paused; a killed one is down for less than half of it. */
  readonly longestPauseMilliseconds: number;
}

const everybody: readonly Victim[] = ['leader', 'standby', 'cluster-broker', 'kafka-broker', 'kafka', 'api-server'];

/**
 * `planFaults` selects every victim once before any is selected again, and the first fault of each is a kill. Some faults overlap with
 * the next one.
 */
export function planFaults(random: Random, options: PlanOptions): Fault[] {
  const { milliseconds, victims, pauseMilliseconds, longestPauseMilliseconds: longest } = options;
  const plan: Fault[] = [];
  let round: Victim[] = [];
  for (let at = random.between(500, 1_500); at < milliseconds; ) {
    if (round.length === 0) round = shuffled(victims, random);
    const victim = round.pop() ?? 'leader';
    const how = plan.length < victims.length || random.chance(0.6) ? 'kill' : 'pause';
    const lasts =
      how === 'kill'
        ? random.between(100, Math.max(1_000, longest * 0.4))
        : random.between(Math.min(5_000, longest), longest);
    plan.push({ victim, how, at, lasts });
    at += random.between(200, pauseMilliseconds) + (random.chance(0.7) ? lasts : 0);
  }
  return plan;
}

export const allVictims = everybody;

function shuffled<T>(list: readonly T[], random: Random): T[] {
  return list
    .map((value) => ({ value, key: random.next() }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value);
}

/** A process that faults can be injected into. */
interface Hurtable {
  readonly name: string;
  readonly pid: number | undefined;
  kill(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
}

export interface Chaos {
  /** The injected faults, one line each, with the seconds since the start. */
  readonly timeline: readonly string[];
  /** The number of faults so far. */
  readonly faults: number;
  /** Resolves once every fault is over and all processes run. */
  readonly over: Promise<void>;
}

export function unleash(stage: Stage, plan: readonly Fault[], log: (line: string) => void): Chaos {
  const began = Date.now();
  const timeline: string[] = [];
  const busy = new Set<string>();
  let faults = 0;
  const note = (line: string) => {
    const stamped = `${((Date.now() - began) / 1000).toFixed(1).padStart(6)} s  ${line}`;
    timeline.push(stamped);
    log(stamped);
  };

  async function hurt({ victim, how, at, lasts }: Fault): Promise<void> {
    await sleep(Math.max(0, began + at - Date.now()));
    const target = await whoever(victim);
    busy.add(target.name);
    faults += 1;
    note(`${how} ${victim} (${target.name}, ${target.pid ?? 'down'}) for ${lasts} ms`);
    if (how === 'kill') await target.kill();
    else target.pause();
    await sleep(lasts);
    if (how === 'kill') await startAgain(target, note);
    else target.resume();
    note(`${target.name} is running again`);
    busy.delete(target.name);
  }

  /** A fault waits until the previous one of its target is over: on a slow machine that takes longer than planned. */
  async function whoever(victim: Victim): Promise<Hurtable> {
    for (;;) {
      const target = targetOf(stage, victim);
      if (!busy.has(target.name)) return target;
      await sleep(100);
    }
  }

  return {
    timeline,
    get faults() {
      return faults;
    },
    over: Promise.all(plan.map(hurt)).then(() => undefined),
  };
}

/** `startAgain` retries: a start can fail while a server that the process depends on is down too. */
async function startAgain(target: Hurtable, note: (line: string) => void): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await target.start();
      return;
    } catch (error) {
      if (tries === 5) throw error;
      note(`${target.name} did not start: ${error instanceof Error ? error.message.slice(0, 300) : error}`);
    }
  }
}

function targetOf({ plane, kafka, replicas, clusterBroker, kafkaBroker }: Stage, victim: Victim): Hurtable {
  switch (victim) {
    case 'leader':
      return lastToSay('lease acquired', replicas);
    case 'standby': {
      const leader = lastToSay('lease acquired', replicas);
      return replicas.find((each) => each !== leader) ?? leader;
    }
    case 'cluster-broker':
      return lastToSay('became leader', clusterBroker);
    case 'kafka-broker':
      return lastToSay('became leader', kafkaBroker);
    case 'kafka':
      return kafka.process;
    case 'api-server':
      return plane.apiServer;
  }
}

/** `lastToSay` uses the logs of the programs, because the API server can be down. */
function lastToSay(message: string, programs: readonly Program[]): Program {
  const said = (program: Program) => program.lines().findLast((line) => line.message === message)?.timestamp ?? '';
  const [last] = [...programs].sort((a, b) => (said(a) < said(b) ? 1 : -1));
  if (last === undefined) throw new Error('there is no program to inject a fault into');
  return last;
}
