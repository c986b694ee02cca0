/** The real Helm, built from source like the control plane, with its own folders so that the user's are not touched. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ensureAssets, renderProgress } from '../../src/controlplane/index.ts';
import type { CommandResult } from './cluster.ts';

export interface Helm {
  /** The folder for charts, to which paths of `helm` are relative. */
  readonly directory: string;
  /** The folder of the program, for PATH. */
  readonly folder: string;
  write(files: Readonly<Record<string, string>>): void;
  /** Resolves for every exit code. */
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
