/** The real Helm, built like the control plane from its own sources, with folders of its own so that nothing of the user's is touched. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ensureAssets, renderProgress } from '../../src/controlplane/index.ts';
import type { CommandResult } from './cluster.ts';

export interface Helm {
  /** Where charts are written to, and paths of `helm` begin. */
  readonly directory: string;
  /** The folder of the program, for a PATH. */
  readonly folder: string;
  write(files: Readonly<Record<string, string>>): void;
  /** Resolves whatever the exit code is. */
  helm(words: readonly string[], kubeconfig?: string): Promise<CommandResult>;
  remove(): void;
}

export async function realHelm(): Promise<Helm> {
  const { helm: program } = await ensureAssets(['helm'], { onProgress: renderProgress(process.stderr) });
  const directory = mkdtempSync(join(tmpdir(), 'kidp-helm-'));
  const home = Object.fromEntries(
    ['CACHE', 'CONFIG', 'DATA'].map((each) => [`HELM_${each}_HOME`, join(directory, '.helm', each)]),
  );
  return {
    directory,
    folder: dirname(program),
    write(files) {
      for (const [name, content] of Object.entries(files)) {
        mkdirSync(dirname(join(directory, name)), { recursive: true });
        writeFileSync(join(directory, name), content);
      }
    },
    helm: (words, kubeconfig = '/dev/null') =>
      new Promise((resolve, reject) => {
        const child = spawn(program, words, {
          cwd: directory,
          stdio: ['ignore', 'pipe', 'pipe'],
          env: { ...process.env, ...home, KUBECONFIG: kubeconfig },
        });
        const output = { stdout: '', stderr: '' };
        for (const stream of ['stdout', 'stderr'] as const) {
          child[stream].setEncoding('utf8').on('data', (text: string) => {
            output[stream] += text;
          });
        }
        child.on('error', reject);
        child.on('close', (code) => resolve({ ...output, code: code ?? -1 }));
      }),
    remove: () => rmSync(directory, { recursive: true }),
  };
}

/** A Chart.yaml. */
export const chartNamed = (name: string, more = ''): string => `apiVersion: v2\nname: ${name}\nversion: 1.0.0\n${more}`;
