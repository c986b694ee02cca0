/**
 * `kidp up` (`npm start`): starts a local control plane, or joins an existing cluster, installs kidp into it, prints what to try, and
 * cleans up when it is stopped. If no control plane can be built, it serves the webhooks alone.
 */
import { ControlPlaneError } from '../../controlplane/index.ts';
import { type Cleanup, createCleanup } from '../../platform/index.ts';
import { untilStopped } from '../common/stop.ts';
import type { UpFlags } from './command.ts';
import { joinCluster } from './existing-cluster.ts';
import { startOwnCluster } from './local-cluster.ts';
import type { Running } from './running.ts';
import { Interrupted, type Steps, startSteps } from './steps.ts';
import { serveAlone } from './webhook-only.ts';

export async function up(flags: UpFlags): Promise<number> {
  const output = process.stdout;
  const stopped = untilStopped();
  const steps = startSteps(output, stopped);
  const cleanup = createCleanup();
  output.write('kidp is starting\n\n');
  try {
    const running = await start(flags, steps, cleanup);
    output.write(`\nready in ${steps.seconds().toFixed(1)} s. Ctrl-C stops everything.\n\n`);
    for (const line of running.welcome) output.write(`${line}\n`);
    const reason = await Promise.race([stopped.then((signal) => ({ signal })), ended(running)]);
    output.write('signal' in reason ? `\nstopping (${reason.signal}) …\n` : `\n${reason.failure}\nstopping …\n`);
    const notes = await cleanup.run();
    for (const line of notes) output.write(`${line}\n`);
    output.write('stopped\n');
    return 'signal' in reason ? 0 : 1;
  } catch (error) {
    for (const line of await cleanup.run()) process.stderr.write(`${line}\n`);
    if (!(error instanceof Interrupted)) throw error;
    output.write(`\n${error.message}\n`);
    return 130;
  }
}

async function start(flags: UpFlags, steps: Steps, cleanup: Cleanup): Promise<Running> {
  if (flags.kubeconfig !== undefined) return joinCluster({ ...flags, kubeconfig: flags.kubeconfig }, steps, cleanup);
  try {
    return await startOwnCluster(flags, steps.step, cleanup);
  } catch (error) {
    if (error instanceof ControlPlaneError && error.code === 'assets/no-go') {
      return serveAlone(flags, steps.step, cleanup, error.message);
    }
    throw error;
  }
}

async function ended(running: Running): Promise<{ failure: string }> {
  return { failure: await (running.ended ?? new Promise<never>(() => undefined)) };
}
