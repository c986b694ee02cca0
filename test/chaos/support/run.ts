/**
 * A chaos run: users work while faults are injected at random moments into every process on the way. Then all processes run again, and
 * the result is judged. A failure reports how to repeat the run, and the details of each affected object.
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
  /** The time during which users work and faults start. */
  readonly milliseconds: number;
  readonly log: (line: string) => void;
  readonly victims?: readonly Victim[];
  readonly brokerInstances?: number;
  readonly users?: number;
  readonly mostObjects?: number;
  readonly workPauseMilliseconds?: number;
  readonly faultPauseMilliseconds?: number;
  readonly longestPauseMilliseconds?: number;
  /** The longest time to converge after the last fault. */
  readonly patienceMilliseconds?: number;
}

export interface ChaosReport {
  readonly seed: number;
  /** The number of injected faults. */
  readonly faults: number;
  readonly work: Workload['counts'];
  readonly objects: number;
  readonly claims: number;
  /** Seconds from the end of the last fault to convergence. */
  readonly converged: number;
  /** How often each program exited without a fault and was restarted. */
  readonly ownEnds: Readonly<Record<string, number>>;
}

/** `chosenSeed` returns `KIDP_SEED`, or a random seed; the run logs it. */
export function chosenSeed(): number {
  const { KIDP_SEED } = process.env;
  if (KIDP_SEED !== undefined && KIDP_SEED !== 'random') return Number(KIDP_SEED);
  return Math.floor(Math.random() * 2 ** 31);
}

export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, milliseconds, log, victims = allVictims } = options;
  const random = seeded(seed);
  log(`seed ${seed}: set KIDP_SEED=${seed} to repeat the plan`);
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
    log(`all processes run again; ${JSON.stringify(workload.counts)}`);
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

/** `settled` waits until no `unfinished` violation is left, or until the timeout. */
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
      log(`${new Set(violations.map(({ uid }) => uid)).size} objects have not converged yet`);
      said = Date.now();
    }
    await sleep(1_000);
  }
}

/** `putAside` returns unexpected dead letters: only messages about an object that was deleted meanwhile are expected. */
function putAside(stage: Stage): string[] {
  return programsOf(stage).flatMap((program) =>
    program
      .lines()
      .flatMap(({ message, code, reason, topic }) =>
        message === 'message sent to the dead-letter topic' && code !== 'unknown-object'
          ? [`${program.name} sent a message of ${topic} to the dead-letter topic: ${code}, ${reason}`]
          : [],
      ),
  );
}

/** `crashes` returns output that is neither a log line nor an error message of kidp: the last output of a program that crashed. */
function crashes(stage: Stage): string[] {
  return programsOf(stage).flatMap((program) =>
    program
      .lines()
      .flatMap(({ text }) =>
        typeof text === 'string' && !text.startsWith('kidp: ') ? [`${program.name} printed: ${text}`] : [],
      ),
  );
}
