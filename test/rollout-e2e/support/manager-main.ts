/**
 * Runs the platform in a process of its own, so that a test can end it with `kill -9`. The first argument is a JSON
 * object with the paths that it needs. Like `kidp serve`, it exits with a message when the platform ends, for example
 * because it lost its Lease.
 */

import { keysFromFile } from '../../../src/fleet/index.ts';
import { createCleanup, startPlatform } from '../../../src/platform/index.ts';
import { connect, loadKubeconfig, silentLogger } from '../../../src/runtime/index.ts';
import { addressGuard } from '../../../src/runtime/internal.ts';
import { intervals, systemNamespace, unapproved } from './timing.ts';

const { kubeconfig, keys, helm } = JSON.parse(process.argv[2] ?? '{}') as Record<
  'kubeconfig' | 'keys' | 'helm',
  string
>;
const lease = { namespace: systemNamespace, name: 'kidp' };
const config = loadKubeconfig({ file: kubeconfig });

// Standard input closes when the test runner ends, even after kill -9: this process must not outlive it.
process.stdin.resume().on('close', () => process.exit());

const { ended } = await startPlatform(
  {
    client: connect(config),
    platformNamespace: systemNamespace,
    // Short, so that the next process does not wait long for the Lease of a killed one; long enough to be renewed on a
    // busy machine.
    leaderElection: {
      client: connect(config),
      lease,
      leaseDurationMilliseconds: 5_000,
      renewDeadlineMilliseconds: 4_000,
      retryPeriodMilliseconds: 400,
    },
    failurePolicy: 'Ignore',
    guard: addressGuard(['127.0.0.0/8']),
    rollouts: { keys: keysFromFile(keys), helm: { program: helm }, settings: unapproved, intervals },
    log: silentLogger,
  },
  createCleanup(),
);
process.stdout.write('started\n');

const cause = await ended.then(
  () => 'it was stopped',
  (error: unknown) => (error instanceof Error ? (error.stack ?? error.message) : String(error)),
);
process.stderr.write(`the platform has ended: ${cause}\n`, () => process.exit(1));
