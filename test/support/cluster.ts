/** Access to the control plane that all integration tests share. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';

export { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '../../src/controlplane/index.ts';

export interface SharedControlPlane {
  /** The kubeconfig file of a user in system:masters. */
  kubeconfig: string;
  url: string;
  /** The CA certificate (PEM) of the API server's certificate. */
  authority: string;
  /** The path of kubectl. */
  kubectl: string;
}

export interface CommandResult {
  stdout: string;
  stderr: string;
  code: number;
}

export interface KubectlOptions {
  /** Standard input: a manifest for `apply -f -`, as text or as an object (or list of objects). */
  input?: string | object;
  /** Another control plane or user than the shared administrator. */
  kubeconfig?: string;
}

export interface Cluster {
  kubeconfig: string;
  controlPlane: SharedControlPlane;
  /** Resolves for every exit code. */
  kubectl(flags: readonly string[], options?: KubectlOptions): Promise<CommandResult>;
  /** Creates a namespace that no other test uses. */
  uniqueNamespace(prefix: string): Promise<string>;
}

export function sharedCluster(): Cluster {
  const controlPlane = inject('controlPlane');
  const run = (flags: readonly string[], options: KubectlOptions = {}) =>
    kubectl(controlPlane.kubectl, flags, { kubeconfig: controlPlane.kubeconfig, ...options });
  return {
    kubeconfig: controlPlane.kubeconfig,
    controlPlane,
    kubectl: run,
    async uniqueNamespace(prefix) {
      const name = uniqueName(prefix);
      const { code, stderr } = await run(['create', 'namespace', name]);
      if (code !== 0) throw new Error(`creating namespace ${name}: ${stderr}`);
      return name;
    },
  };
}

/** A unique name for a cluster-scoped object such as a CRD, which a namespace does not isolate. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

function kubectl(
  program: string,
  flags: readonly string[],
  options: KubectlOptions & { kubeconfig: string },
): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [`--kubeconfig=${options.kubeconfig}`, ...flags], { stdio: 'pipe' });
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ ...output, code: code ?? -1 }));
    // kubectl can exit before it has read its whole input; its exit code then says why.
    child.stdin.on('error', () => undefined);
    child.stdin.end(typeof options.input === 'object' ? manifest(options.input) : options.input);
  });
}

function manifest(input: object): string {
  return JSON.stringify(Array.isArray(input) ? { apiVersion: 'v1', kind: 'List', items: input } : input);
}
