/**
 * What is compared: the pairs of a directory (`NAME/old.yaml`, `NAME/new.yaml`), or the corpus of the tests and definitions that are
 * made to be as large as real ones are, each with a few changes.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { corpus } from '../../test/crd-compat/support/corpus/index.ts';

export interface Pair {
  readonly name: string;
  /** Files. */
  readonly old: string;
  readonly new: string;
}

export function pairsIn(directory: string): Pair[] {
  return readdirSync(directory)
    .sort()
    .map((name) => ({ name, old: join(directory, name, 'old.yaml'), new: join(directory, name, 'new.yaml') }))
    .filter((pair) => existsSync(pair.old) && existsSync(pair.new));
}

const sizes = [10, 20, 40, 60, 80, 100, 150, 200];

/** Writes them below the directory. */
export function madePairs(directory: string): Pair[] {
  const write = (name: string, before: unknown, after: unknown) => {
    const folder = join(directory, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'old.yaml'), yaml(before));
    writeFileSync(join(folder, 'new.yaml'), yaml(after));
  };
  for (const [index, { before, after }] of corpus.entries())
    write(`corpus-${String(index).padStart(3, '0')}`, before, after);
  for (const kilobytes of sizes) {
    const { before, after } = largePair(kilobytes * 1024);
    write(`made-${String(kilobytes).padStart(3, '0')}-kilobytes`, before, after);
  }
  return pairsIn(directory);
}

export const yaml = (definition: unknown): string =>
  stringify(definition, { lineWidth: 0, aliasDuplicateObjects: false });

type Schema = Record<string, unknown>;

/** A definition of about so many bytes of YAML, and one with eight changes, four of them breaking. */
export function largePair(bytes: number): { before: Schema; after: Schema } {
  const sections = sectionsFor(bytes);
  const changed = structuredClone(sections);
  const field = (section: number, name: string): Schema => {
    const place = Math.floor((section * changed.length) / 8);
    return ((changed[place] as Schema).properties as Record<string, Schema>)[name] as Schema;
  };
  Object.assign(field(0, 'mode'), { enum: ['Fast', 'Slow'] });
  Object.assign(field(1, 'replicas'), { maximum: 50 });
  Object.assign(field(2, 'image'), { pattern: '^[a-z0-9./-]+$' });
  Object.assign(field(3, 'labels'), { maxProperties: 8 });
  Object.assign(field(4, 'replicas'), { maximum: 200 });
  Object.assign(field(5, 'mode'), { enum: ['Fast', 'Slow', 'Steady', 'Never'] });
  Object.assign(field(6, 'image'), { description: 'The image, in other words.' });
  Object.assign(field(7, 'ports'), { maxItems: 64 });
  return { before: definition(sections), after: definition(changed) };
}

function sectionsFor(bytes: number): Schema[] {
  const each = yaml(fleet(2)).length - yaml(fleet(1)).length;
  return sectionsOf(Math.ceil(bytes / each));
}

const sectionsOf = (count: number): Schema[] => Array.from({ length: count }, (_, index) => section(index));

/** The definition with so many sections. */
export const fleet = (count: number): Schema => definition(sectionsOf(count));

const definition = (sections: readonly Schema[]): Schema => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'fleets.bench.example.com' },
  spec: {
    group: 'bench.example.com',
    scope: 'Namespaced',
    names: { plural: 'fleets', singular: 'fleet', kind: 'Fleet', listKind: 'FleetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'A fleet of things.',
            properties: {
              spec: {
                type: 'object',
                description: 'What is wanted.',
                properties: Object.fromEntries(sections.map((schema, index) => [`section${index}`, schema])),
              },
            },
          },
        },
      },
    ],
  },
});

/** As a container of a pod is described: text, bounds, lists with keys, maps, quantities. */
const section = (index: number): Schema => ({
  type: 'object',
  description: `Section ${index} of the fleet: how its things are run, where they are reached, and what they may use.\nIt is left alone where it is not given. More info: https://example.com/fleets/sections#${index}`,
  required: ['image'],
  properties: {
    image: {
      type: 'string',
      description: 'The image to run. Where it has no tag, the newest is taken, which is seldom what is wanted.',
      minLength: 1,
    },
    mode: { type: 'string', description: 'How to run it.', enum: ['Fast', 'Slow', 'Steady'] },
    replicas: { type: 'integer', format: 'int32', description: 'How many.', minimum: 0, maximum: 100 },
    labels: { type: 'object', description: 'For selectors.', additionalProperties: { type: 'string', maxLength: 63 } },
    ports: {
      type: 'array',
      description: 'Where it is reached; the list has keys, so that parts of it can be owned by others.',
      maxItems: 32,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        required: ['port', 'protocol'],
        properties: {
          name: { type: 'string', description: 'Of the port, unique in the section.', pattern: '^[a-z][a-z0-9-]*$' },
          port: { type: 'integer', format: 'int32', minimum: 1, maximum: 65535 },
          protocol: { type: 'string', description: 'TCP, unless another is given.', enum: ['TCP', 'UDP', 'SCTP'] },
        },
      },
    },
    limits: {
      type: 'object',
      description: 'What it may use at most.',
      additionalProperties: {
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        pattern:
          '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
        'x-kubernetes-int-or-string': true,
      },
    },
    selector: {
      type: 'object',
      description: 'Which things are meant.',
      'x-kubernetes-map-type': 'atomic',
      properties: {
        matchExpressions: {
          type: 'array',
          'x-kubernetes-list-type': 'atomic',
          items: {
            type: 'object',
            required: ['key', 'operator'],
            properties: {
              key: { type: 'string', description: 'The label.' },
              operator: { type: 'string', description: 'In, NotIn, Exists or DoesNotExist.' },
              values: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
            },
          },
        },
      },
    },
  },
});
