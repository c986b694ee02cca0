/**
 * Runs chaos tests for a chosen time: two replicas, two brokers, Kafka and the API server are killed and stopped at
 * random while users create, change and delete objects. Afterwards every guarantee must hold: see test/chaos.
 */
import { type ChaosReport, chosenSeed, runChaos } from '../chaos/support/run.ts';

export async function run({ minutes, log }: { minutes: number; log: (line: string) => void }): Promise<ChaosReport> {
  const report = await runChaos({ seed: chosenSeed(), milliseconds: minutes * 60_000, log });
  log(JSON.stringify(report));
  return report;
}
