/**
 * Compares the offline data on Kubernetes with a real API server: kinds, schemas, and the results of type checks. The
 * API server accepts the starter policies unchanged.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../src/api/index.ts';
import type { Schema } from '../../src/cel/index.ts';
import {
  combineSchemas,
  crdSchemas,
  type Json,
  kubernetesSchemas,
  openApiSchemas,
  platformSchemas,
  type SchemaSource,
  typeCheck,
} from '../../src/policy/index.ts';
import { eventually } from '../../src/runtime/testing/index.ts';
import { installKinds } from '../api/support/installed.ts';
import type { Cluster } from '../support/cluster.ts';
import { readPack } from './support/packs.ts';

const policies = [...readPack('platform'), ...readPack('pod-security')];
const offline = kubernetesSchemas();
let cluster: Cluster;
let live: SchemaSource;

beforeAll(async () => {
  ({ cluster } = await installKinds());
  // An API server publishes its OpenAPI documents shortly after it serves a kind.
  live = await eventually(async () => {
    const read = await publishedSchemas();
    const known = new Set(read.kinds().map(({ group, kind }) => `${group}/${kind}`));
    const missing = kinds.filter(({ kind, resource }) => !known.has(`${resource.group}/${kind}`));
    if (missing.length > 0) throw new Error(`not published yet: ${missing.map(({ kind }) => kind).join(', ')}`);
    return read;
  });
});

/** The groups of Kubernetes and of the platform; other tests create and delete their own kinds. */
const published = /^(?:api|apis\/(?:[a-z]+|[a-z.]+\.k8s\.io|platform\.company\.com))\/v\d+$/;

async function publishedSchemas(): Promise<SchemaSource> {
  const { paths } = (await raw('/openapi/v3')) as unknown as { paths: Record<string, { serverRelativeURL: string }> };
  const documents: Json[] = [];
  for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
    if (published.test(path)) documents.push(await raw(serverRelativeURL));
  }
  return openApiSchemas(documents);
}

async function raw(path: string): Promise<Json> {
  const { stdout, stderr, code } = await cluster.kubectl(['get', '--raw', path]);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

test('the built-in kinds are those of the API server, with plurals and scopes', async () => {
  const groups = new Set(offline.kinds().map(({ group, version }) => `${group}/${version}`));
  // Reviews and bindings can only be created, so no path has their name.
  const namable = offline.kinds().filter(({ kind }) => !/Review$/.test(kind) && kind !== 'Binding');
  const served = live.kinds().filter(({ group, version }) => groups.has(`${group}/${version}`));
  const text = (each: (typeof served)[number]) =>
    `${each.group}/${each.version}/${each.kind} ${each.plural} ${each.namespaced ? 'in a namespace' : 'of the cluster'}`;
  expect(namable.map(text).sort()).toEqual(served.map(text).sort());
  const stable = live
    .kinds()
    .filter(({ group, version }) => /^v\d+$/.test(version) && /^([a-z]*|.*\.k8s\.io)$/.test(group));
  expect(stable.filter(({ group, version }) => !groups.has(`${group}/${version}`))).toEqual([]);
});

describe('the schemas of built-in kinds', () => {
  test.each(
    offline.kinds().filter(({ kind }) => !/Review$/.test(kind) && kind !== 'Binding'),
  )('$group $version $kind has the fields that the API server has, with their types', (kind) => {
    expect(differences(offline.schema(kind), live.schema(kind), kind.kind)).toEqual([]);
  });
});

test('the comparison finds differences', () => {
  const kind = (name: string) => ({ group: '', version: 'v1', kind: name });
  const found = differences(offline.schema(kind('Pod')), live.schema(kind('Service')), '');
  expect(found).toContain('.spec.containers: not there');
  expect(found).toContain('.spec.clusterIP: not here');
  expect(
    differences({ type: 'array', items: { type: 'string' } }, { type: 'array', items: { type: 'integer' } }, ''),
  ).toEqual(['[]: string here, integer there']);
});

/** Returns the differences of two schemas at any depth; pairs that were already compared are skipped. */
function differences(
  ours: Schema | undefined,
  theirs: Schema | undefined,
  path: string,
  seen = new Set<string>(),
): string[] {
  const reference = ours?.$ref ?? '';
  if (reference !== '' && seen.has(reference)) return [];
  const below = new Set([...seen, reference]);
  const left = follow(ours, offline);
  const right = follow(theirs, live);
  if (left === undefined || right === undefined) return [`${path}: ${left === undefined ? 'not here' : 'not there'}`];
  // A field that the library does not type accepts any value.
  if (left.type === undefined) return [];
  // A quantity may be a number too, but the API server always declares it as a string.
  const type = right.type ?? ('oneOf' in right ? 'string' : undefined);
  if (left['x-kubernetes-int-or-string'] === true || left.type !== type)
    return left.type === type ? [] : [`${path}: ${left.type} here, ${type} there`];
  if (left.items !== undefined) return differences(left.items, right.items, `${path}[]`, below);
  if (typeof left.additionalProperties === 'object') {
    return differences(left.additionalProperties, right.additionalProperties as Schema, `${path}{}`, below);
  }
  const names = new Set([...Object.keys(left.properties ?? {}), ...Object.keys(right.properties ?? {})]);
  return [...names].flatMap((name) =>
    differences(left.properties?.[name], right.properties?.[name], `${path}.${name}`, below),
  );
}

function follow(schema: Schema | undefined, source: SchemaSource): Schema | undefined {
  const reference = schema?.$ref ?? (schema?.type === undefined ? schema?.allOf?.[0]?.$ref : undefined);
  return reference === undefined ? schema : source.resolve?.(reference);
}

describe('the starter policies', () => {
  test('pass type checks against the API server as they do offline', () => {
    for (const schemas of [live, combineSchemas(crdSchemas([]), platformSchemas(), offline)]) {
      expect(policies.flatMap(({ model }) => typeCheck(model, schemas))).toEqual([]);
    }
  });

  test('are accepted by the API server unchanged', async () => {
    const { code, stderr, stdout } = await cluster.kubectl([
      'apply',
      '--dry-run=server',
      '--validate=strict',
      '--recursive',
      '-f',
      'policies',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trim().split('\n')).toHaveLength(policies.length);
  });
});
