/** The options of `up` and `serve` for the gate of CustomResourceDefinitions: docs/crd-gate.md. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CrdGateOptions, Environment } from '../../admission/index.ts';

/** Said here once more: to load the gate for its words alone would be felt by every command. */
const environments: readonly Environment[] = ['production', 'staging', 'dev'];

export interface CrdGateFlags {
  environment: Environment;
  crdAllowUnused?: boolean;
  crdIncomplete: 'deny' | 'warn';
  crdHistory: number;
}

export function declareCrdGate(command: Command): Command {
  return command
    .addOption(
      new Option('--environment <name>', 'of the cluster: in production only an Approval lets a breaking CRD change in')
        .choices(environments)
        .default('production'),
    )
    .option('--crd-allow-unused', 'let in a breaking CRD change that hits no stored object and nothing that is served')
    .addOption(
      new Option('--crd-incomplete <what>', 'with a risky CRD change whose objects could not all be read in time')
        .choices(['deny', 'warn'])
        .default('deny'),
    )
    .option('--crd-history <number>', 'versions of each CRD that are kept as CRDRevisions; 0: none', history, 10);
}

export const gateOptions = ({ environment, crdAllowUnused, crdIncomplete }: CrdGateFlags): CrdGateOptions => ({
  environment,
  allowUnused: crdAllowUnused === true,
  whenIncomplete: crdIncomplete,
});

function history(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 1000) {
    throw new InvalidArgumentError('a whole number from 0 to 1000');
  }
  return number;
}
