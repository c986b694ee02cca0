/**
 * `kidp up` (`npm start`): the product's main job on this machine. Starts a real control plane, or joins an existing cluster, puts
 * kidp into it, says what to try, and takes everything back when it is stopped. Where no control plane can be had, the webhooks are
 * served alone.
 */
import { ControlPlaneError } from '../controlplane/index.ts';
import type { CrdGateFlags } from './crd-gate-options.ts';
import { serveAlone } from './up/alone.ts';
import { joinCluster } from './up/existing.ts';
import { startOwnCluster } from './up/own.ts';
import { Interrupted, type Steps, startSteps } from './up/steps.ts';
import { untilStopped } from './up/stop.ts';
import { startUndo, type Undo } from './up/undo.ts';

export interface UpOptions extends CrdGateFlags {
  reset?: boolean;
  kubeconfig?: string;
  directory: string;
  port?: number;
  webhookPort?: number;
  webhookHost?: string;
}

/** What runs, and what to tell the user. */
export interface Running {
  welcome: readonly string[];
  /** Resolves with what happened, should it end by itself. */
  ended?: Promise<string>;
}

export async function up(options: UpOptions): Promise<number> {
  const output = process.stdout;
  const stopped = untilStopped();
  const steps = startSteps(output, stopped);
  const undo = startUndo();
  output.write('kidp is starting\n\n');
  try {
    const running = await start(options, steps, undo);
    output.write(`\nready in ${steps.seconds().toFixed(1)} s. Ctrl-C stops everything.\n\n`);
    for (const line of running.welcome) output.write(`${line}\n`);
    const reason = await Promise.race([stopped.then((signal) => ({ signal })), ended(running)]);
    output.write('signal' in reason ? `\nstopping (${reason.signal}) …\n` : `\n${reason.failure}\nstopping …\n`);
    const notes = await undo.run();
    for (const line of notes) output.write(`${line}\n`);
    output.write('stopped\n');
    return 'signal' in reason ? 0 : 1;
  } catch (error) {
    for (const line of await undo.run()) process.stderr.write(`${line}\n`);
    if (!(error instanceof Interrupted)) throw error;
    output.write(`\n${error.message}\n`);
    return 130;
  }
}

async function start(options: UpOptions, steps: Steps, undo: Undo): Promise<Running> {
  if (options.kubeconfig !== undefined) return joinCluster({ ...options, kubeconfig: options.kubeconfig }, steps, undo);
  try {
    return await startOwnCluster(options, steps.step, undo);
  } catch (error) {
    if (error instanceof ControlPlaneError && error.code === 'assets/no-go') {
      return serveAlone(options, steps.step, undo, error.message);
    }
    throw error;
  }
}

async function ended(running: Running): Promise<{ failure: string }> {
  return { failure: await (running.ended ?? new Promise<never>(() => undefined)) };
}
