/**
 * Chaos for as long as one likes: two replicas, two brokers, Kafka and the API server killed and stopped at random moments while users
 * create, change and delete. Afterwards every guarantee to users holds: see test/chaos.
 */
import { type ChaosReport, chosenSeed, runChaos } from '../chaos/support/run.ts';

export async function run({ minutes, log }: { minutes: number; log: (line: string) => void }): Promise<ChaosReport> {
  const report = await runChaos({ seed: chosenSeed(), milliseconds: minutes * 60_000, log });
  log(JSON.stringify(report));
  return report;
}
