/**
 * Fuzz test: whatever is sent, the server has no internal error and its response is in the OpenAPI document. Requests
 * are generated from the document and then damaged.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStage, type Stage } from './support/testbed.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.stop());

type Schema = Readonly<Record<string, unknown>> & {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
};

interface Operation {
  readonly parameters: readonly { name: string; in: string; schema: Schema }[];
  readonly requestBody?: { content: { 'application/json': { schema: Schema } } };
}

/** Strings with a special meaning somewhere. */
const words = fc.constantFrom(
  'a',
  'dev-1',
  'cert-manager',
  'v1.14.0',
  '1.0.0',
  'PT5M',
  'oci://127.0.0.1:1/c',
  '',
  ' ',
  'ü',
  '../..',
  '%2e%2e',
  'A'.repeat(300),
  '2026-01-31T12:00:00Z',
  '\u0000',
);
const junk: fc.Arbitrary<unknown> = fc.oneof(
  words,
  fc.integer(),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
  fc.array(words, { maxLength: 3 }),
  fc.dictionary(words, words, { maxKeys: 3 }),
);

function sentAs(schema: Schema, schemas: Readonly<Record<string, Schema>>, depth = 0): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return sentAs(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, schemas, depth);
  const damaged = (well: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 12, arbitrary: well }, { weight: 1, arbitrary: junk });
  if (schema.enum !== undefined) return damaged(fc.constantFrom(...schema.enum));
  const [type] = [schema.type ?? 'object'].flat();
  switch (type) {
    case 'string':
      return damaged(words);
    case 'integer':
    case 'number':
      return damaged(
        fc.integer({
          min: Math.floor(schema.minimum ?? 0) - 1,
          max: Math.min(Math.ceil(schema.maximum ?? 1000), 1000) + 1,
        }),
      );
    case 'boolean':
      return damaged(fc.boolean());
    case 'array':
      return damaged(
        depth > 6 ? fc.constant([]) : fc.array(sentAs(schema.items ?? {}, schemas, depth + 1), { maxLength: 3 }),
      );
    default: {
      const entries = Object.entries(schema.properties ?? {});
      if (entries.length === 0 || depth > 6) return damaged(fc.dictionary(words, junk, { maxKeys: 2 }));
      const model = Object.fromEntries(entries.map(([name, each]) => [name, sentAs(each, schemas, depth + 1)]));
      return damaged(fc.record(model, { requiredKeys: [...(schema.required ?? [])].filter((name) => name in model) }));
    }
  }
}

test('no response is an internal error, and every response is in the document', async () => {
  const reader = await stage.token('reader', []);
  const document = (await stage.ask('/openapi.json', { token: reader })).body as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const requests = operations.map(({ path, method, operation }) =>
    fc.record({
      path: fc.constant(path),
      method: fc.constant(method),
      params: fc.record(
        Object.fromEntries(operation.parameters.filter((each) => each.in === 'path').map(({ name }) => [name, words])),
      ),
      query: fc.record(
        Object.fromEntries(
          operation.parameters
            .filter((each) => each.in === 'query')
            .map(({ name, schema }) => [name, sentAs(schema, {})]),
        ),
        { requiredKeys: [] },
      ),
      body:
        operation.requestBody === undefined
          ? fc.constant(undefined)
          : sentAs(operation.requestBody.content['application/json'].schema, document.components.schemas),
    }),
  );
  let user = 0;
  const statuses = new Map<number, number>();
  for (const arbitrary of requests) {
    await fc.assert(
      fc.asyncProperty(arbitrary, async ({ path, method, params, query, body }) => {
        user += 1;
        const token = await stage.token(`user-${user}`, ['kidp:admin']);
        const filled = path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(String(params[name])));
        const search = new URLSearchParams(
          Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
        ).toString();
        const answer = await stage.ask(`${filled}${search === '' ? '' : `?${search}`}`, {
          method,
          token,
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        expect(answer.status, answer.text).toBeLessThan(500);
      }),
      { numRuns: 12 },
    );
  }
  // The test is useless if every request is rejected or every one succeeds.
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 404]));
});

test.each([
  { reason: 'invalid JSON', body: '{', status: 400, code: 'malformed' },
  { reason: 'an object with a duplicate key', body: '{"name":"a","name":"b"}', status: 400, code: 'malformed' },
  { reason: 'an object with __proto__', body: '{"__proto__":{"admin":true}}', status: 400, code: 'malformed' },
  { reason: 'not an object', body: '[]', status: 400, code: 'invalid' },
  { reason: 'empty', body: '', status: 400, code: 'invalid' },
  { reason: 'too large', body: JSON.stringify({ name: 'x'.repeat(3 * 1024 * 1024) }), status: 413, code: 'oversized' },
])('a body that is $reason returns $status', async ({ body, status, code }) => {
  const token = await stage.token('someone', ['kidp:admin']);
  const answer = await stage.ask('/api/v1/operators', { method: 'POST', token, body });
  expect([answer.status, answer.body.code]).toEqual([status, code]);
});

test('distinguishes unsupported content types, compression, methods and paths', async () => {
  const token = await stage.token('someone', ['kidp:admin']);
  const post = (headers: Record<string, string>) =>
    stage.ask('/api/v1/operators', { method: 'POST', token, body: 'x', headers });
  expect((await post({ 'content-type': 'text/plain' })).status).toBe(415);
  expect((await post({ 'content-encoding': 'gzip' })).status).toBe(415);
  const method = await stage.ask('/api/v1/operators/some', { method: 'PUT', token });
  expect([method.status, method.headers.allow]).toEqual([405, 'GET, DELETE']);
  expect((await stage.ask('/api/v2/operators', { token })).status).toBe(404);
});
