/** The flags of `up` and `serve` for the CRD gate: docs/crd-gate.md. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CrdGateOptions, Environment } from '../../admission/index.ts';

/** Repeated here, because loading the gate for its constants would slow down every command. */
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
      new Option(
        '--environment <name>',
        'Set the environment of the cluster; in production a breaking CRD change needs an Approval',
      )
        .choices(environments)
        .default('production'),
    )
    .option('--crd-allow-unused', 'Admit a breaking CRD change that affects no stored object and no served version')
    .addOption(
      new Option(
        '--crd-incomplete <what>',
        'Choose the answer to a risky CRD change whose objects could not all be read in time',
      )
        .choices(['deny', 'warn'])
        .default('deny'),
    )
    .option('--crd-history <number>', 'Keep this many versions of each CRD as CRDRevisions; 0 keeps none', history, 10);
}

export const gateOptions = ({ environment, crdAllowUnused, crdIncomplete }: CrdGateFlags): CrdGateOptions => ({
  environment,
  allowUnused: crdAllowUnused === true,
  whenIncomplete: crdIncomplete,
});

function history(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 1000) {
    throw new InvalidArgumentError('want a whole number from 0 to 1000');
  }
  return number;
}
