/** Helm as a user at a terminal has it. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sharedCluster } from '../../support/cluster.ts';
import { type OperatorChart, packChart } from '../../support/operator-charts.ts';

/** Where the signal comes it is killed, and this rejects. */
export async function byHand(program: string, words: readonly string[], signal?: AbortSignal): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'kidp-by-hand-'));
  try {
    await promisify(execFile)(program, words, {
      env: { ...process.env, KUBECONFIG: sharedCluster().kubeconfig, HOME: home, HELM_CACHE_HOME: home },
      killSignal: 'SIGKILL',
      ...(signal === undefined ? {} : { signal }),
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

export async function installByHand(program: string, chart: OperatorChart, namespace: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'kidp-chart-'));
  const archive = join(directory, 'chart.tgz');
  writeFileSync(archive, packChart(chart));
  await byHand(program, ['install', chart.name, archive, '--namespace', namespace, '--create-namespace']);
  rmSync(directory, { recursive: true });
}
