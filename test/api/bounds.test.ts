/** Every bound of every field holds: in the API server, and in the editor's schema before it. */
import { Ajv } from 'ajv';
import { beforeAll, describe, expect, test } from 'vitest';
import { kinds, type OpenApiSchema, schemaFor } from '../../src/api/index.ts';
import { ApiError, type Client } from '../../src/runtime/index.ts';
import { fixtures, installKinds, type Manifest, moved, resourceOf } from './support/installed.ts';
import { fieldsWithout, type Mutation, mutationsOf } from './support/mutations.ts';

/** The fixtures that together have every field of a kind. */
const full = kinds.map((kind) => {
  const [object, ...more] = fixtures()
    .filter((fixture) => fixture.file.startsWith('full-') && fixture.object.kind === kind.kind)
    .map((fixture) => fixture.object);
  if (!object) throw new Error(`there is no fixture with every field of ${kind.kind}`);
  return { name: kind.kind, kind, object, more };
});

let client: Client;
let namespace: string;
beforeAll(async () => {
  const installed = await installKinds();
  client = installed.client;
  namespace = await installed.cluster.uniqueNamespace('bounds');
  return () => client.close();
});

describe.each(full)('$name', ({ kind, object, more }) => {
  const mutations = mutationsOf(kind.spec.openapi, object.spec, 'spec');

  test('the fixtures have every field, so that none goes untried', () => {
    const missing = fieldsWithout(
      kind.spec.openapi,
      [object, ...more].map(({ spec }) => spec),
      'spec',
    );
    // Label selectors are the same everywhere, and so are dependencies: the Application has them all.
    const elsewhere = /[sS]elector\.match(Labels|Expressions)$|^spec\.dependencies\./;
    expect(missing.filter((field) => kind.kind === 'Application' || !elsewhere.test(field))).toEqual([]);
  });

  test('the API server refuses what misses a bound, and names the field', async () => {
    const accepted: string[] = [];
    const unnamed: string[] = [];
    for (const batch of batches(mutations, 16)) {
      await Promise.all(
        batch.map(async (mutation) => {
          const label = `${mutation.field}: ${mutation.reason}`;
          const refusal = await refusalOf(mutation);
          if (refusal === undefined) accepted.push(label);
          else if (!names(refusal, mutation.field)) unnamed.push(`${label}: ${refusal.message}`);
        }),
      );
    }
    expect(mutations.length).toBeGreaterThan(10);
    expect({ accepted, unnamed }).toEqual({ accepted: [], unnamed: [] });
  });

  test("the editor's schema refuses the same", () => {
    const validate = new Ajv({ allowUnionTypes: true, formats: { 'date-time': true } }).compile(schemaFor(kind));
    expect(validate(object), JSON.stringify(validate.errors)).toBe(true);
    const accepted = mutations.filter(({ value }) => validate({ ...object, spec: value }));
    expect(accepted.map(({ field, reason }) => `${field}: ${reason}`)).toEqual([]);
  });

  async function refusalOf(mutation: Mutation): Promise<ApiError | undefined> {
    const mutated = moved({ ...object, spec: mutation.value } as Manifest, namespace);
    try {
      await client.create(resourceOf(object), mutated, { dryRun: true, fieldValidation: 'Strict' });
      return undefined;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 422 || error.status === 400)) return error;
      throw error;
    }
  }
});

/** An unknown field is refused while decoding, which gives no causes, only a message. */
function names(refusal: ApiError, field: string): boolean {
  const causes = refusal.details.causes ?? [];
  return causes.some((cause) => cause.field?.startsWith(field)) || refusal.message.includes(`"${field}"`);
}

function batches<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}

test('there is a bound of every sort among those tried', () => {
  const reasons = new Set(full.flatMap(({ kind, object }) => reasonsOf(kind.spec.openapi, object.spec)));
  expect([...reasons].sort()).toEqual([
    'a required field is missing',
    'against the pattern',
    'an unknown field',
    'another type',
    'none of the choices',
    'too big',
    'too few',
    'too long',
    'too many',
    'too short',
    'too small',
  ]);
});

function reasonsOf(schema: OpenApiSchema, value: unknown): string[] {
  return mutationsOf(schema, value, 'spec').map(({ reason }) => reason);
}
