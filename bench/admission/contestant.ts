/** A webhook as a process of its own: started, asked, called by the API server, and ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Client, KubernetesObject, Resource } from '../../src/runtime/index.ts';
import { issueAuthority, issueLeaf } from '../../src/runtime/internal.ts';

/** The client certificate with which the webhook alone is called, beside that of the API server. */
const validity = { now: Date.now(), validMilliseconds: 3_600_000, backdateMilliseconds: 60_000 };
const authority = issueAuthority(validity);
const credentials = issueLeaf(authority, { ...validity, client: { commonName: 'bench' } });

export interface Contestant {
  readonly url: string;
  readonly caBundle: string;
  readonly policies?: number;
  /** Since the process began. */
  readonly readyMilliseconds?: number;
  residentMegabytes(): number;
  /** The CPU time of the process so far: the cost of a review, however busy the machine is. */
  cpuMilliseconds(): number;
  stop(): Promise<void>;
}

/** `startContestant` starts a webhook. Ours answers only clients with a certificate, of the API server's CA or of the benchmark. */
export async function startContestant(
  apiServerAuthority: string,
  program: 'empty' | 'ours',
  ...flags: readonly string[]
): Promise<Contestant> {
  const child = spawn(process.execPath, [join(import.meta.dirname, `${program}.ts`), ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
    // As bin/kidp.js has it: source that was read before is read as it was compiled then.
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
      CLIENT_CA: [apiServerAuthority, authority.certificate].join('\n'),
    },
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const said = JSON.parse(await firstLine(child, program));
  return {
    ...said,
    residentMegabytes: () => residentOf(child.pid ?? 0),
    cpuMilliseconds: () => cpuOf(child.pid ?? 0),
    async stop() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

function firstLine(child: ChildProcess, program: string): Promise<string> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return reject(new Error('no output'));
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`the contestant "${program}" ended with ${code}`)));
  });
}

function residentOf(pid: number): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/** User and system time, in the 10 ms that Linux counts in. */
function cpuOf(pid: number): number {
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '');
  const fields = afterName.split(' ').map(Number);
  return ((fields[11] ?? 0) + (fields[12] ?? 0)) * 10;
}

const configurations: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  plural: 'validatingwebhookconfigurations',
  kind: 'ValidatingWebhookConfiguration',
  namespaced: false,
};

/** Has the API server ask it about Deployments, and returns what ends that. */
export async function register(client: Client, { url, caBundle }: Contestant): Promise<() => Promise<void>> {
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: configurations.kind,
    metadata: { name: 'bench' },
    webhooks: [
      {
        name: 'bench.kidp.dev',
        admissionReviewVersions: ['v1'],
        clientConfig: { url: `${url}/validate/fail`, caBundle: Buffer.from(caBundle).toString('base64') },
        failurePolicy: 'Fail',
        sideEffects: 'None',
        timeoutSeconds: 5,
        matchPolicy: 'Equivalent',
        rules: [
          { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] },
        ],
      },
    ],
  };
  await client.create(configurations, configuration as KubernetesObject);
  return () => client.delete(configurations, { name: 'bench' });
}

/** Reviews at a steady rate over a few connections, whatever the answers take: the time of each, in milliseconds. */
export async function steadily(
  { url, caBundle }: Contestant,
  { perSecond, seconds, body }: { perSecond: number; seconds: number; body: string },
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const times: number[] = [];
  const ask = (due: number) =>
    new Promise<void>((resolve, reject) => {
      const sent = request(
        `${url}/validate/fail?timeout=5s`,
        { method: 'POST', headers, ca: caBundle, agent, cert: credentials.certificate, key: credentials.key },
        (answer) => {
          answer.resume().on('end', () => {
            times.push(performance.now() - due);
            if (answer.statusCode === 200) resolve();
            else reject(new Error(`the webhook answered ${answer.statusCode}`));
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  const began = performance.now();
  const asked: Promise<void>[] = [];
  for (let index = 0; index < perSecond * seconds; ) {
    const now = performance.now();
    // From when it was due, so that a webhook that stands still is charged for those that wait.
    for (; index < perSecond * seconds && began + (index * 1000) / perSecond <= now; index += 1) {
      asked.push(ask(began + (index * 1000) / perSecond));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(asked);
  agent.destroy();
  return times;
}
