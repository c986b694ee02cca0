/** What is tried on the API server besides the corpus: random pairs, and real ones from a directory. Objects are samples of the old schema. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse } from 'yaml';
import type { CrdSchema, Json } from '../../src/crd-compat/index.ts';
import { samples } from '../../src/crd-compat/instance/index.ts';
import { definition, group } from './corpus/index.ts';
import type { Case } from './judge.ts';
import { randomPairs } from './random.ts';

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

interface Definition {
  spec: {
    group: string;
    names: { kind: string };
    conversion?: { strategy?: string };
    versions: {
      name: string;
      served: boolean;
      schema?: { openAPIV3Schema?: CrdSchema };
      subresources?: { scale?: { specReplicasPath: string; statusReplicasPath: string } };
    }[];
  };
}

/** `DIRECTORY/NAME/{old,new}.yaml`. Conversion webhooks are left out: there is none to ask. */
export function realCases(directory: string, objects = 3): Case[] {
  const folders = readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((folder) => existsSync(join(folder, 'old.yaml')) && existsSync(join(folder, 'new.yaml')));
  return folders.sort().map((folder) => {
    const [before, after] = ['old.yaml', 'new.yaml'].map((file) =>
      unconverted(readFileSync(join(folder, file), 'utf8')),
    );
    const { spec } = before as unknown as Definition;
    const found = spec.versions
      .filter((version) => version.served)
      .flatMap(({ name, schema, subresources }) => {
        const resource = { apiVersion: `${spec.group}/${name}`, kind: spec.names.kind, name: 'sample' };
        const { specReplicasPath = '', statusReplicasPath = '' } = subresources?.scale ?? {};
        const taken = [specReplicasPath, statusReplicasPath].reduce(
          (whole, path) => countingReplicas(whole, path.split('.').slice(1)),
          schema?.openAPIV3Schema ?? {},
        );
        return samples(taken, { seed: 1, count: objects, resource }) as Json[];
      });
    return { name: folder, before: before as Json, after: after as Json, objects: found };
  });
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

function unconverted(text: string): Json {
  const { metadata, spec, ...rest } = parse(text) as { metadata: { name: string }; spec: Json };
  const { conversion: _, ...kept } = spec;
  // A protected group wants an approval that a copy of it has no right to.
  const approved = { 'api-approved.kubernetes.io': 'unapproved, experimental-only' };
  return { ...rest, metadata: { name: metadata.name, annotations: approved }, spec: kept };
}
