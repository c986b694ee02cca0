/**
 * A run of chaos: users work, everything that their work passes through is hurt at random moments, then all is made well again, and
 * what came of it is judged. A failure says how to have the run again, and everything that is known of the objects it is about.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { diagnose } from './diagnosis.ts';
import { gather } from './evidence.ts';
import { allVictims, planFaults, unleash, type Victim } from './faults.ts';
import { type Evidence, judge, type Violation } from './invariants.ts';
import { seeded } from './random.ts';
import { programsOf, type Stage, startStage } from './stage.ts';
import { startWitness, type Witness } from './witness.ts';
import { startWorkload, type Workload } from './workload.ts';

export interface ChaosOptions {
  readonly seed: number;
  /** How long users work and faults begin. */
  readonly milliseconds: number;
  readonly log: (line: string) => void;
  readonly victims?: readonly Victim[];
  readonly brokerInstances?: number;
  readonly users?: number;
  readonly mostObjects?: number;
  readonly workPauseMilliseconds?: number;
  readonly faultPauseMilliseconds?: number;
  readonly longestPauseMilliseconds?: number;
  /** How long it may take until all is as it must be, once all is well again. */
  readonly patienceMilliseconds?: number;
}

export interface ChaosReport {
  readonly seed: number;
  /** How often somebody was hurt. */
  readonly faults: number;
  readonly work: Workload['counts'];
  readonly objects: number;
  readonly claims: number;
  /** Seconds from the end of the last fault until all was as it must be. */
  readonly converged: number;
  /** How often each program ended by itself and was started again. */
  readonly ownEnds: Readonly<Record<string, number>>;
}

/** `KIDP_SEED`, or any: it is said at the beginning. */
export function chosenSeed(): number {
  const { KIDP_SEED } = process.env;
  if (KIDP_SEED !== undefined && KIDP_SEED !== 'random') return Number(KIDP_SEED);
  return Math.floor(Math.random() * 2 ** 31);
}

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, milliseconds, log, victims = allVictims } = options;
  const random = seeded(seed);
  log(`seed ${seed}: KIDP_SEED=${seed} has the same plan again`);
  const plan = planFaults(random.stream('faults'), {
    milliseconds: victims.length === 0 ? 0 : milliseconds,
    victims,
    pauseMilliseconds: options.faultPauseMilliseconds ?? 12_000,
    longestPauseMilliseconds: options.longestPauseMilliseconds ?? 20_000,
  });
  const stage = await startStage({ brokerInstances: options.brokerInstances ?? 2, log });
  let witness: Witness | undefined;
  try {
    witness = await startWitness(stage.plane.etcd);
    const workload = startWorkload({
      client: stage.client,
      random: random.stream('work'),
      users: options.users ?? 6,
      mostObjects: options.mostObjects ?? 8,
      pauseMilliseconds: options.workPauseMilliseconds ?? 1_000,
    });
    const chaos = unleash(stage, plan, log);
    await Promise.all([chaos.over, sleep(milliseconds)]);
    const quiet = Date.now();
    const givenUp = await workload.finish().then(
      () => [],
      (error: Error) => [`a user gave up: ${error.message}`],
    );
    log(`all is well again; ${JSON.stringify(workload.counts)}`);
    const { evidence, violations } = await settled(stage, workload, witness, options);
    const faults = [
      ...violations.map(({ message }) => message),
      ...crashes(stage),
      ...putAside(stage),
      ...givenUp,
      ...(witness.failure === undefined ? [] : [witness.failure]),
    ];
    if (faults.length > 0) {
      throw new Error(await diagnose({ seed, stage, chaos, evidence, violations, faults }));
    }
    return {
      seed,
      faults: chaos.faults,
      work: workload.counts,
      objects: evidence.expected.length,
      claims: new Set(evidence.records.flatMap(({ ledger }) => ledger.map(({ deploymentId }) => deploymentId))).size,
      converged: Math.round((Date.now() - quiet) / 100) / 10,
      ownEnds: Object.fromEntries(programsOf(stage).map(({ name, ownEnds }) => [name, ownEnds])),
    };
  } finally {
    witness?.stop();
    await stage.stop();
  }
}

/** Until nothing is left that may still pass, or for as long as that may take. */
async function settled(
  stage: Stage,
  workload: Workload,
  witness: Witness,
  { patienceMilliseconds = 240_000, log }: ChaosOptions,
): Promise<{ evidence: Evidence; violations: readonly Violation[] }> {
  const until = Date.now() + patienceMilliseconds;
  let said = Date.now();
  for (;;) {
    const evidence = await gather(stage, workload, witness);
    const violations = judge(evidence);
    const isUnfinished = violations.some(({ rule }) => rule === 'unfinished');
    // A crash fails the run in any case: there is no point in waiting for the rest.
    if (!isUnfinished || Date.now() > until || crashes(stage).length > 0) return { evidence, violations };
    if (Date.now() - said > 10_000) {
      log(`${new Set(violations.map(({ uid }) => uid)).size} objects are not there yet`);
      said = Date.now();
    }
    await sleep(1_000);
  }
}

/** Everybody is honest here: only about an object that has gone meanwhile may there be a message that nobody can use. */
function putAside(stage: Stage): string[] {
  return programsOf(stage).flatMap((program) =>
    program
      .lines()
      .flatMap(({ message, code, reason, topic }) =>
        message === 'message sent to the dead-letter topic' && code !== 'unknown-object'
          ? [`${program.name} put a message of ${topic} aside: ${code}, ${reason}`]
          : [],
      ),
  );
}

/** Words that are neither a line of a log nor a failure that is told as one: the last ones of a program that broke. */
function crashes(stage: Stage): string[] {
  return programsOf(stage).flatMap((program) =>
    program
      .lines()
      .flatMap(({ text }) =>
        typeof text === 'string' && !text.startsWith('kidp: ') ? [`${program.name} said: ${text}`] : [],
      ),
  );
}
