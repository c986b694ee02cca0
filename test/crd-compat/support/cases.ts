/** The cases besides the corpus: random pairs and real ones, with samples of the old schema as objects. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { CrdSchema, Json } from '../../../src/crd-compat/index.ts';
import { samples } from '../../../src/crd-compat/instance/index.ts';
import { definition, group } from './corpus/index.ts';
import type { Case } from './judge.ts';
import { randomEdits, randomPairs } from './random.ts';

export function randomCases(seed: number, count: number, objects = 4): Case[] {
  return fc.sample(randomPairs, { seed, numRuns: count }).map(({ before, after }, index) => {
    const whole = (spec: CrdSchema): CrdSchema => ({
      type: 'object',
      properties: { note: { type: 'string' }, spec },
    });
    const resource = { apiVersion: `${group}/v1`, kind: 'Widget', name: 'sample' };
    return {
      name: `random ${index} of seed ${seed}`,
      before: definition(whole(before)),
      after: definition(whole(after)),
      objects: samples(whole(before), { seed, count: objects, resource }) as Json[],
    };
  });
}

/** Changes of a definition with several versions, by the schemas `a` and `b` of them; `*` marks the storage version. */
const moves: readonly (readonly [
  before: Readonly<Record<string, 'a' | 'b'>>,
  after: Readonly<Record<string, 'a' | 'b'>>,
])[] = [
  [{ 'v1*': 'a' }, { 'v1*': 'a', v2: 'b' }],
  [{ 'v1*': 'a' }, { v1: 'a', 'v2*': 'b' }],
  [{ 'v1*': 'a' }, { 'v1*': 'a', v1beta1: 'b' }],
  [
    { 'v1*': 'a', v1beta1: 'b' },
    { v1: 'a', 'v1beta1*': 'b' },
  ],
  [
    { 'v1*': 'a', v1beta1: 'a' },
    { 'v1*': 'a', v1beta1: 'b' },
  ],
  [
    { 'v1*': 'a', v1beta1: 'a' },
    { 'v1*': 'b', v1beta1: 'a' },
  ],
  [
    { v1: 'a', 'v2*': 'b' },
    { 'v1*': 'a', v2: 'b' },
  ],
  [
    { 'v1*': 'a', v2: 'b' },
    { 'v1*': 'a', v2: 'b', v3: 'a' },
  ],
];

/** Random pairs of schemas as versions of one definition without a conversion webhook. */
export function randomVersionCases(seed: number, count: number, objects = 3): Case[] {
  return fc.sample(randomPairs, { seed, numRuns: count }).map(({ before: a, after: b }, index) => {
    const schemas = Object.entries({ a, b }).map(([name, spec]) => {
      const schema: CrdSchema = { type: 'object', properties: { note: { type: 'string' }, spec } };
      return [name, schema] as const;
    });
    const schemaOf = (name: 'a' | 'b') => Object.fromEntries(schemas)[name] as CrdSchema;
    const [before, after] = moves[index % moves.length] as (typeof moves)[number];
    const definitionOf = (versions: typeof before): Json =>
      definition({}, (spec) => {
        spec.versions = Object.entries(versions).map(([mark, name]) => ({
          name: mark.replace('*', ''),
          served: true,
          storage: mark.includes('*'),
          schema: { openAPIV3Schema: schemaOf(name) },
        }));
      });
    return {
      name: `random versions ${index} of seed ${seed}`,
      before: definitionOf(before),
      after: definitionOf(after),
      objects: Object.entries(before).flatMap(([mark, name]) => {
        const resource = { apiVersion: `${group}/${mark.replace('*', '')}`, kind: 'Widget', name: 'sample' };
        return samples(schemaOf(name), { seed, count: objects, resource }) as Json[];
      }),
    };
  });
}

interface Definition {
  metadata: { name: string; annotations?: object };
  spec: { group: string; names: { kind: string }; conversion?: { strategy?: string }; versions: readonly Version[] };
}

interface Version {
  name: string;
  served: boolean;
  storage: boolean;
  schema?: { openAPIV3Schema?: CrdSchema };
  subresources?: { scale?: { specReplicasPath: string; statusReplicasPath: string } };
}

/** Reads `DIRECTORY/NAME/{old,new}.yaml`. Conversion webhooks are removed, because none is running. */
export function realCases(directory: string): Case[] {
  const folders = readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((folder) => existsSync(join(folder, 'old.yaml')) && existsSync(join(folder, 'new.yaml')));
  return folders.sort().map((folder) => {
    const [before, after] = ['old.yaml', 'new.yaml'].map((file) => read(join(folder, file)));
    return caseOf(folder, before as Definition, after as Definition);
  });
}

/**
 * Definitions of Flux, which come with its programs: what a version of one was before it became stable, and what it is now, there and
 * back. Between the two lie years of changes that somebody has made.
 */
export function fluxCases(directories: readonly string[]): Case[] {
  return definitionsIn(directories).flatMap((definition) => {
    const { versions } = definition.spec;
    const stable = versions.find(({ name }) => name === 'v1');
    return versions.flatMap((version) => {
      if (stable === undefined || version === stable) return [];
      const [then, now] = [version, stable].map((each) => only(definition, { ...each, name: 'v1', storage: true }));
      const name = `${definition.metadata.name} ${version.name}`;
      return [
        caseOf(`${name} to v1`, then as Definition, now as Definition),
        caseOf(`v1 to ${name}`, now as Definition, then as Definition),
      ];
    });
  });
}

/** Our own definitions, each with an edit somewhere in its spec. */
export function ownCases(directory: string, seed: number, edits = 2): Case[] {
  return definitionsIn([directory]).flatMap((definition, index) => {
    const [version] = definition.spec.versions;
    const schema = version?.schema?.openAPIV3Schema;
    const spec = schema?.properties?.spec;
    if (version === undefined || schema === undefined || spec === undefined) return [];
    return fc.sample(randomEdits(spec), { seed: seed + index, numRuns: edits }).map((edited, edit) => {
      const openAPIV3Schema = { ...schema, properties: { ...schema.properties, spec: edited } };
      const after = only(definition, { ...version, schema: { openAPIV3Schema } });
      return caseOf(`${definition.metadata.name}, edit ${edit} of seed ${seed}`, only(definition, version), after);
    });
  });
}

const definitionsIn = (directories: readonly string[]): Definition[] =>
  directories.flatMap((directory) =>
    readdirSync(directory)
      .filter((file) => file.endsWith('.yaml'))
      .sort()
      .map((file) => read(join(directory, file))),
  );

const only = (definition: Definition, version: Version): Definition => ({
  ...definition,
  spec: { ...definition.spec, versions: [version] },
});

/** Adds samples that the old definition accepts. */
function caseOf(name: string, before: Definition, after: Definition, count = 3): Case {
  const { spec } = before;
  const objects = spec.versions
    .filter((version) => version.served)
    .flatMap(({ name: version, schema, subresources }) => {
      const resource = { apiVersion: `${spec.group}/${version}`, kind: spec.names.kind, name: 'sample' };
      const { specReplicasPath = '', statusReplicasPath = '' } = subresources?.scale ?? {};
      const taken = [specReplicasPath, statusReplicasPath].reduce(
        (whole, path) => countingReplicas(whole, path.split('.').slice(1)),
        schema?.openAPIV3Schema ?? {},
      );
      return samples(taken, { seed: 1, count, resource }) as Json[];
    });
  return { name, before: before as unknown as Json, after: after as unknown as Json, objects };
}

/** What the API server asks of the replicas of a scale, whatever the schema says of the field. */
function countingReplicas(schema: CrdSchema, [step, ...rest]: readonly string[]): CrdSchema {
  if (step === undefined) {
    if (schema.type !== 'integer') return schema;
    const { minimum = 0, maximum = INT32 } = schema;
    return { ...schema, minimum: Math.max(0, minimum), maximum: Math.min(INT32, maximum) };
  }
  const field = schema.properties?.[step];
  if (field === undefined) return schema;
  return { ...schema, properties: { ...schema.properties, [step]: countingReplicas(field, rest) } };
}

const INT32 = 2 ** 31 - 1;

function read(file: string): Definition {
  const { metadata, spec, ...rest } = parse(readFileSync(file, 'utf8')) as Definition;
  const { conversion: _, ...kept } = spec;
  // A protected group wants an approval that a copy of it has no right to.
  const approved = { 'api-approved.kubernetes.io': 'unapproved, experimental-only' };
  return { ...rest, metadata: { name: metadata.name, annotations: approved }, spec: kept };
}
