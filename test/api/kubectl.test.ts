/** How the kinds look to someone at a terminal. */
import { beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/api/index.ts';
import type { Client } from '../../src/runtime/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import type { Cluster } from '../support/cluster.ts';
import { examples, installKinds, moved } from './support/installed.ts';

let cluster: Cluster;
let client: Client;
let namespace: string;
beforeAll(async () => {
  ({ cluster, client } = await installKinds());
  namespace = await cluster.uniqueNamespace('kubectl');
  const input = examples().map((object) => moved(object, namespace));
  const applied = await cluster.kubectl(['apply', '-f', '-'], { input });
  if (applied.code !== 0) throw new Error(applied.stderr);
  return () => client.close();
});

async function stdout(...flags: string[]): Promise<string> {
  const result = await cluster.kubectl(flags);
  expect(result).toMatchObject({ code: 0 });
  return result.stdout;
}

test('every CRD is established, its names are accepted, and its schema is structural', async () => {
  const crds: { metadata: { name: string }; status: { conditions: { type: string; status: string }[] } }[] = JSON.parse(
    await stdout('get', 'crd', '-o', 'json', ...kinds.map((kind) => `${kind.plural}.platform.company.com`)),
  ).items;
  expect(crds).toHaveLength(kinds.length);
  for (const { metadata, status } of crds) {
    const conditions = Object.fromEntries(status.conditions.map(({ type, status }) => [type, status]));
    expect(conditions, metadata.name).toMatchObject({ Established: 'True', NamesAccepted: 'True' });
    expect(conditions, metadata.name).not.toHaveProperty('NonStructuralSchema');
    expect(conditions, metadata.name).not.toHaveProperty('KubernetesAPIApprovalPolicyConformant');
  }
});

test('no short name is a name of anything else that the cluster serves', async () => {
  const wide = await stdout('api-resources', '--no-headers', '-o', 'wide');
  const others = wide
    .split('\n')
    .filter((line) => line !== '' && !line.includes('platform.company.com'))
    .flatMap((line) => line.trim().split(/\s+/).slice(0, 2))
    .flatMap((words) => words.split(','));
  expect(others).toEqual(expect.arrayContaining(['pods', 'po', 'svc']));
  expect(kinds.map((kind) => kind.shortName).filter((name) => others.includes(name))).toEqual([]);
});

describe.each(kinds.map((kind) => ({ name: kind.kind, kind })))('$name', ({ kind }) => {
  const named = () => {
    const [example] = examples().filter((object) => object.kind === kind.kind);
    return example ? moved(example, namespace).metadata.name : '';
  };

  test('shows its columns', async () => {
    const [header, ...rows] = (await stdout('get', kind.shortName, '-n', namespace, '-o', 'wide')).split('\n');
    expect(header?.trim().split(/\s{2,}/)).toEqual([
      'NAME',
      ...kind.columns.map((column) => column.name.toUpperCase()),
    ]);
    expect(rows.some((row) => row.startsWith(named()))).toBe(true);
  });

  test('explains every field of its spec', async () => {
    // An API server writes down what it serves a moment after it serves it.
    await eventually(async () => {
      const text = await stdout('explain', `${kind.plural}.spec`, '--api-version=platform.company.com/v1');
      const flat = text.replace(/\s+/g, ' ');
      for (const [name, field] of Object.entries(kind.spec.openapi.properties ?? {})) {
        expect(flat).toContain(`${name} <`);
        expect(flat).toContain((field.description ?? '').replace(/\s+/g, ' ').slice(0, 60));
      }
    });
  });
});

test('every kind answers to its short name and to its full name', async () => {
  const ours = examples()
    .map((example) => moved(example, namespace))
    .map(({ kind, metadata }) => `${kind.toLowerCase()}.platform.company.com/${metadata.name}`);
  // Other tests have objects too that are in no namespace, and they come and go.
  const found = async (names: readonly string[]) => {
    const lines = (await stdout('get', names.join(), '-n', namespace, '-o', 'name')).split('\n');
    return lines.filter((line) => ours.includes(line)).sort();
  };
  expect(await found(kinds.map((kind) => kind.shortName))).toEqual(ours.toSorted());
  expect(await found(kinds.map((kind) => `${kind.plural}.platform.company.com`))).toEqual(ours.toSorted());
});

test('all of them answer to the category', async () => {
  const names = (await stdout('get', 'kidp', '-n', namespace, '-o', 'name')).split('\n');
  const found = new Set(names.map((name) => name.split('/')[0]));
  expect([...found].filter(Boolean).sort()).toEqual(
    kinds.map((kind) => `${kind.singular}.platform.company.com`).sort(),
  );
});

test('plain service and secret remain those of the core API', async () => {
  expect(await stdout('get', 'services,secrets', '-n', namespace, '-o', 'name')).toBe('');
});

test('the columns show what the objects say', async () => {
  const row = await stdout('get', 'kdb', 'users', '-n', namespace, '--no-headers');
  expect(row.trim().split(/\s+/)).toEqual(
    expect.arrayContaining(['users', 'postgresql', 'user-service', 'azure-westus2-prod']),
  );
  const status = { phase: 'ready', conditions: [{ type: 'Ready', status: 'True', reason: 'ResourceReady' }] };
  await stdout(
    'patch',
    'kdb',
    'users',
    '-n',
    namespace,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status }),
  );
  const ready = await stdout('get', 'kdb', 'users', '-n', namespace, '--no-headers', '-o', 'wide');
  expect(ready.trim().split(/\s+/)).toEqual(expect.arrayContaining(['ready', 'True', 'ResourceReady']));
});

test('a service can be scaled', async () => {
  await stdout('scale', 'kservice/user-api', '-n', namespace, '--replicas=5');
  expect(await stdout('get', 'kservice', 'user-api', '-n', namespace, '-o', 'jsonpath={.spec.replicas}')).toBe('5');
});
