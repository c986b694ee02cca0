/** Starts a cluster with one real node, prints what it put on the machine, and waits to be killed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startRealCluster } from '../../../src/controlplane/index.ts';

const { directory } = await startRealCluster();
const { network, cgroup } = JSON.parse(readFileSync(join(directory, 'plan.json'), 'utf8'));
process.stdout.write(`${JSON.stringify({ directory, link: `kidp${network}`, cgroup })}\n`);
setInterval(() => undefined, 1_000);
