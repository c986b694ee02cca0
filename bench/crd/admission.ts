/**
 * How long a change of a definition takes through a real API server and the gate, where there are no objects: the old one is there, and
 * the new one is put in its place without being kept.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { startControlPlane } from '../../src/controlplane/index.ts';
import { type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { read } from './ours.ts';
import { fleet, type Pair } from './pairs.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export interface AdmissionTimes {
  /** Of each change, in milliseconds. */
  readonly gated: readonly number[];
  /** The same before there was a gate. */
  readonly ungated: readonly number[];
  /** How many of the changes the gate has denied. */
  readonly denied: number;
}

export async function admissionTimes(pairs: readonly Pair[], times: number): Promise<AdmissionTimes> {
  const plane = await startControlPlane();
  const client = connect(loadKubeconfig({ file: plane.kubeconfig }));
  try {
    const ungated = await changeAll(client, pairs, times, 'without');
    const gate = await startGate(client, plane.kubeconfig);
    try {
      const gated = await changeAll(client, pairs, times, 'gated');
      return { gated: gated.milliseconds, ungated: ungated.milliseconds, denied: gated.denied - ungated.denied };
    } finally {
      gate.kill('SIGTERM');
    }
  } finally {
    await client.close();
    await plane.stop();
  }
}

async function startGate(client: Client, kubeconfig: string) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'gate.ts'), kubeconfig], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await new Promise<void>((resolve, reject) => {
      createInterface({ input: child.stdout }).once('line', () => resolve());
      child.once('exit', (code) => reject(new Error(`the gate ended with ${code}`)));
    });
    await isAsked(client);
    return child;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

/** The API server hears of its webhooks by a watch: a definition that loses a field is refused once it has. */
async function isAsked(client: Client): Promise<void> {
  const { before, after } = probe();
  const path = `${definitions}/${before.metadata.name}`;
  await client.request({ method: 'POST', path: definitions, body: before });
  await eventually(async () => {
    const current = JSON.parse((await client.request({ method: 'GET', path })).text) as { metadata: object };
    const body = { ...after, metadata: current.metadata };
    const put = await client.request({ method: 'PUT', path, query: { dryRun: 'All' }, body });
    return put.text.includes('admission webhook');
  });
  await client.request({ method: 'DELETE', path });
}

function probe() {
  const of = (spec: object) => ({
    ...fleet(0),
    metadata: { name: 'probes.bench.example.com' },
    spec: {
      group: 'bench.example.com',
      scope: 'Namespaced',
      names: { plural: 'probes', singular: 'probe', kind: 'Probe', listKind: 'ProbeList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  });
  const properties = { size: { type: 'integer' } };
  return { before: of({ type: 'object', properties }), after: of({ type: 'object' }) };
}

async function changeAll(client: Client, pairs: readonly Pair[], times: number, mark: string) {
  const milliseconds: number[] = [];
  let denied = 0;
  for (const [index, pair] of pairs.entries()) {
    const group = `g${index}.${mark}.example.com`;
    const before = regrouped(readFileSync(pair.old, 'utf8'), group);
    const after = regrouped(readFileSync(pair.new, 'utf8'), group);
    const path = `${definitions}/${before.metadata.name}`;
    const created = await client.request({ method: 'POST', path: definitions, body: before });
    // A few definitions of old are none that an API server of today creates.
    if (created.status !== 201) continue;
    await eventually(async () =>
      (await client.request({ method: 'GET', path })).text.includes('"Established","status":"True"'),
    );
    for (let time = 0; time < times; time += 1) {
      const current = JSON.parse((await client.request({ method: 'GET', path })).text) as { metadata: object };
      const body = { ...after, metadata: current.metadata };
      const began = performance.now();
      const response = await client.request({ method: 'PUT', path, query: { dryRun: 'All' }, body });
      if (response.status === 409) continue;
      milliseconds.push(performance.now() - began);
      if (response.status === 403 || response.text.includes('admission webhook')) denied += 1;
    }
    await client.request({ method: 'DELETE', path });
  }
  return { milliseconds, denied };
}

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly group: string; readonly names: { readonly plural: string } };
}

/** Under a group of its own, so that definitions of one name do not meet. */
function regrouped(text: string, group: string) {
  const { spec, ...rest } = read(text) as unknown as Definition;
  return { ...rest, metadata: { name: `${spec.names.plural}.${group}` }, spec: { ...spec, group } };
}
