/** Definitions as large as they are in the field: one of our own kinds, in a group of its own under many names. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';

const model = join(import.meta.dirname, '..', '..', 'crds', 'databases.yaml');

export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

export async function largeDefinitions(operator: string, count: number): Promise<Definition[]> {
  const found = parse(await readFile(model, 'utf8')) as Definition;
  const group = `${operator}.example.com`;
  return Array.from({ length: count }, (_, index) => {
    const plural = `things${index}`;
    const names = { plural, singular: `thing${index}`, kind: `Thing${index}`, listKind: `Thing${index}List` };
    return { ...found, metadata: { name: `${plural}.${group}` }, spec: { ...found.spec, group, names } };
  });
}

/** By their paths within a chart. */
export const definitionFiles = (definitions: readonly Definition[]): Record<string, string> =>
  Object.fromEntries(
    // Helm reads by the rules of YAML 1.1.
    definitions.map((definition, index) => [`crds/${index}.yaml`, stringify(definition, { version: '1.1' })]),
  );
