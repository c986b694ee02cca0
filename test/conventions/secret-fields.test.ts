/** Every field that names a Secret is in the table of docs/security/secrets.md, with who writes it and which Secrets it reaches. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { crdFor, kinds, type OpenApiSchema } from '../../src/api/index.ts';

/** The outermost fields of a spec whose name or description speaks of Secrets. */
function secretFields(schema: OpenApiSchema, path: string): string[] {
  const below = (name: string, part: OpenApiSchema) =>
    /secret|remoteRef/i.test(name) ? [`${path}.${name}`] : secretFields(part, `${path}.${name}`);
  const entries = Object.entries(schema.properties ?? {}) as [string, OpenApiSchema][];
  const item = schema.items as OpenApiSchema | undefined;
  return [...entries.flatMap(([name, part]) => below(name, part)), ...(item ? secretFields(item, `${path}[]`) : [])];
}

function documented(): string[] {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'security', 'secrets.md'), 'utf8');
  const rows = [...page.matchAll(/^\| ([A-Z][A-Za-z, ]+) `([^`]+)` \|/gm)];
  return rows.flatMap(([, names = '', field = '']) => names.split(',').map((name) => `${name.trim()} ${field}`));
}

test('the table lists exactly the fields of the schemas', () => {
  const fields = kinds.flatMap((kind) => {
    const { spec } = crdFor(kind).spec.versions[0]?.schema.openAPIV3Schema.properties ?? {};
    return spec === undefined ? [] : secretFields(spec, 'spec').map((field) => `${kind.kind} ${field}`);
  });
  expect(documented().sort()).toEqual(fields.sort());
});
