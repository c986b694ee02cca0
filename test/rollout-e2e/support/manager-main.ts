/** The platform as a process of its own, so that a test can end it with `kill -9`: what it works with comes as JSON in the first word. */

import { keysFromFile } from '../../../src/fleet/index.ts';
import { createCleanup, startPlatform } from '../../../src/platform/index.ts';
import { connect, loadKubeconfig, silentLogger } from '../../../src/runtime/index.ts';
import { intervals, systemNamespace, unapproved } from './timing.ts';

const { kubeconfig, keys, helm } = JSON.parse(process.argv[2] ?? '{}') as Record<
  'kubeconfig' | 'keys' | 'helm',
  string
>;
const lease = { namespace: systemNamespace, name: 'kidp' };
const config = loadKubeconfig({ file: kubeconfig });
await startPlatform(
  {
    client: connect(config),
    platformNamespace: systemNamespace,
    // Short, so that the next one need not wait long for the place of the one that was ended.
    leaderElection: {
      client: connect(config),
      lease,
      leaseDurationMilliseconds: 3_000,
      renewDeadlineMilliseconds: 2_000,
      retryPeriodMilliseconds: 400,
    },
    failurePolicy: 'Ignore',
    rollouts: { keys: keysFromFile(keys), helm: { program: helm }, settings: unapproved, intervals },
    log: silentLogger,
  },
  createCleanup(),
);
process.stdout.write('up\n');
