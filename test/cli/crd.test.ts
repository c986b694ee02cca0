/** `kidp crd` with a real cluster: definitions, objects and revisions are read from there, and what it sketches is taken there. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type CrdRevision, packDefinition, REVISION_LABEL, revisionName } from '../../src/api/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { sharedCluster, uniqueName } from '../support/cluster.ts';
import { runCrd } from '../support/crd-command.ts';

const cluster = sharedCluster();
const group = `${uniqueName('crd')}.example.com`;
const name = `widgets.${group}`;
let namespace: string;
let directory: string;

/** A definition whose size may be at most this. */
const definition = (maximum: number, plural = 'widgets') => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind: plural === 'widgets' ? 'Widget' : 'Gadget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer', maximum }, owner: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
});

const widget = (widgetName: string, spec: object) => ({
  apiVersion: `${group}/v1`,
  kind: 'Widget',
  metadata: { name: widgetName, namespace },
  spec,
});

async function apply(...objects: object[]): Promise<void> {
  const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], { input: objects });
  if (code !== 0) throw new Error(stderr);
}

beforeAll(async () => {
  namespace = await cluster.uniqueNamespace('crd');
  directory = mkdtempSync(join(tmpdir(), 'kidp-crd-live-'));
  await apply(definition(20));
  await eventually(async () => (await cluster.kubectl(['get', name, '--all-namespaces'])).code === 0);
  await apply(widget('small', { size: 5 }), widget('large', { size: 15 }), widget('owned', { owner: 'anna' }));
  mkdirSync(join(directory, 'crds'));
  const renamed = JSON.stringify(definition(10)).replace('"owner"', '"proprietor"');
  writeFileSync(join(directory, 'crds/widgets.json'), renamed);
  writeFileSync(join(directory, 'crds/gadgets.json'), JSON.stringify(definition(10, 'gadgets')));
  writeFileSync(join(directory, 'narrow.json'), JSON.stringify(definition(10)));
});

afterAll(async () => {
  rmSync(directory, { recursive: true });
  await cluster.kubectl(['delete', 'customresourcedefinition', name, '--wait=false', '--ignore-not-found']);
  await cluster.kubectl(['delete', 'crdrevisions.platform.company.com', '-l', `${REVISION_LABEL}=${name}`]);
  await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
});

const run = (...words: string[]) => runCrd([...words, '--kubeconfig', cluster.kubeconfig], { directory });

test('what is in the cluster against files, with the objects that are there', async () => {
  const { code, out, err } = await run('diff', 'cluster:', 'crds', '--objects', 'cluster:', '-o', 'json');
  expect({ code, err }).toEqual({ code: 1, err: '' });
  const [gadgets, widgets] = JSON.parse(out);
  expect(gadgets).toMatchObject({ name: `gadgets.${group}`, verdict: 'safe', changes: [{ kind: 'crd-created' }] });
  expect(widgets).toMatchObject({
    name,
    verdict: 'breaking',
    objects: {
      checked: 3,
      broken: 2,
      first: [
        { namespace, name: 'large' },
        { namespace, name: 'owned' },
      ],
    },
  });
  expect(widgets.changes.map(({ kind }: { kind: string }) => kind)).toEqual(['field-renamed', 'maximum-lowered']);
});

test('one definition by its name, and one that is not there', async () => {
  const live = (await run('diff', `cluster:${name}`, 'narrow.json')).out;
  expect(live).toMatch(/maximum-lowered/);
  // What the API server fills in makes no other change of it: an approval may name the digest that a file has.
  writeFileSync(join(directory, 'old.json'), JSON.stringify(definition(20)));
  const digest = /digest of this change: (sha256:\S+)/;
  expect(digest.exec(live)?.[1]).toBe(digest.exec((await run('diff', 'old.json', 'narrow.json')).out)?.[1]);
  const { code, err } = await run('diff', `cluster:none.${group}`, 'narrow.json');
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringMatching(/the cluster has no CustomResourceDefinition none/),
  });
});

test('a sketch is taken by the API server, breaks nothing, and serves both versions', async () => {
  const sketch = async (file: string) => (await run('migrate', `cluster:${name}`, file, '-o', 'yaml')).out;
  const dry = await cluster.kubectl(['apply', '--dry-run=server', '-f', '-'], {
    input: await sketch('crds/widgets.json'),
  });
  expect(dry).toMatchObject({ code: 0 });
  const narrow = await sketch('narrow.json');
  writeFileSync(join(directory, 'sketch.yaml'), narrow);
  expect((await run('diff', `cluster:${name}`, 'sketch.yaml')).code).toBe(0);
  // The webhook of the sketch is not running. Values that are only narrower can be read without one.
  const { spec, ...rest } = parse(narrow) as { spec: object };
  const tried = { ...rest, spec: { ...spec, conversion: { strategy: 'None' } } };
  expect(await cluster.kubectl(['apply', '-f', '-'], { input: tried })).toMatchObject({ code: 0 });
  await eventually(
    async () => (await cluster.kubectl(['get', `widgets.v2.${group}`, 'large', '-n', namespace])).code === 0,
  );
  await apply(widget('large', { size: 16 }));
  const refused = await cluster.kubectl(['apply', '-f', '-'], {
    input: { ...widget('larger', { size: 16 }), apiVersion: `${group}/v2` },
  });
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/should be less than or equal to 10/) });
});

test('revisions that the cluster keeps', async () => {
  await cluster.kubectl(['apply', '--server-side', '-f', join(import.meta.dirname, '../../crds/crdrevisions.yaml')]);
  await eventually(async () => (await cluster.kubectl(['get', 'crdrevisions.platform.company.com'])).code === 0);
  const revision = (sequence: number, maximum: number): Omit<CrdRevision, 'status'> => {
    const packed = packDefinition(JSON.stringify(definition(maximum).spec));
    if (packed === undefined) throw new Error('a small definition can be packed');
    const crd = { name, uid: '3f0c9c0e-6b1f-4a53-9d0e-2f6f0b8f6d11', generation: sequence };
    return {
      apiVersion: 'platform.company.com/v1',
      kind: 'CRDRevision',
      metadata: { name: revisionName(crd), labels: { [REVISION_LABEL]: name } },
      spec: { crd, sequence, recordedAt: `2026-01-0${sequence}T00:00:00Z`, ...packed },
    };
  };
  await apply(revision(1, 10), revision(2, 20), revision(3, 5));
  const { code, out } = await run('history', name);
  expect(code).toBe(0);
  const rows = out.split('\n').slice(1, 4);
  expect(rows.map((row) => row.split(/ {2,}/).slice(0, 6))).toEqual([
    ['1', '2026-01-01T00:00:00Z', '1', 'v1', 'created', 'first stored revision'],
    ['2', '2026-01-02T00:00:00Z', '2', 'v1', 'safe', '1 safe'],
    ['3', '2026-01-03T00:00:00Z', '3', 'v1', 'breaking', '1 breaking'],
  ]);
  const between = await run('diff', `revision:${name}@1`, `revision:${name}@2`, '-o', 'json');
  expect(JSON.parse(between.out)).toMatchObject({ verdict: 'safe', changes: [{ before: 10, after: 20 }] });
  expect(JSON.parse((await run('diff', `revision:${name}`, 'narrow.json', '-o', 'json')).out).changes[0].before).toBe(
    5,
  );
  expect(await run('diff', `revision:${name}@9`, 'narrow.json')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/there is no revision:.*@9: stored revisions are 1, 2, 3/),
  });
  expect(await run('history', `none.${group}`)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/no revision of none/),
  });
});
