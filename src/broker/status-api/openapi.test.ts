/** That the document describes what there is, and is one that tools can read. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { silentLogger } from '../../runtime/index.ts';
import { Problem } from '../../runtime/internal.ts';
import { heartbeatEvent, statusEvent } from '../contract/index.ts';
import { newAjv } from '../contract/read.ts';
import { openApi } from './openapi.ts';
import { makeStatusApi } from './server.ts';

type Json = Readonly<Record<string, unknown>>;
const document = openApi() as Json & {
  paths: Record<string, Record<string, Json & { operationId: string; responses: Record<string, unknown> }>>;
  components: { schemas: Record<string, Json> };
};

const text = { type: 'string', minLength: 1 };
const closed = (properties: Json, required: readonly string[]) => ({
  type: 'object',
  additionalProperties: false,
  required,
  properties,
});
const mapOf = (schema: Json, pattern = '.') => ({
  type: 'object',
  patternProperties: { [pattern]: schema },
  additionalProperties: false,
});
const schema = { $ref: 'https://json-schema.org/draft/2020-12/schema' };
const content = mapOf(closed({ schema }, ['schema']), '^[a-z]+/[a-z.+-]+$');
const response = closed(
  { description: text, content, headers: mapOf(closed({ description: text, schema }, ['schema'])) },
  ['description'],
);

/** The parts of OpenAPI 3.1 that are used here, and no others: a word that it does not have is an error. */
const openApi31 = closed(
  {
    openapi: { const: '3.1.0' },
    info: closed(
      { title: text, version: text, description: text, license: closed({ name: text, identifier: text }, ['name']) },
      ['title', 'version'],
    ),
    servers: { type: 'array', items: closed({ url: text }, ['url']) },
    security: { type: 'array', items: mapOf({ type: 'array', items: text }) },
    paths: mapOf(
      mapOf(
        closed(
          {
            operationId: text,
            summary: text,
            description: text,
            security: { type: 'array', items: mapOf({ type: 'array', items: text }) },
            parameters: {
              type: 'array',
              items: closed(
                { name: text, in: { enum: ['query', 'header', 'path', 'cookie'] }, description: text, schema },
                ['name', 'in', 'schema'],
              ),
            },
            requestBody: closed({ required: { type: 'boolean' }, content }, ['content']),
            responses: mapOf(response, '^[1-5][0-9][0-9]$'),
          },
          ['operationId', 'responses'],
        ),
        '^(get|post)$',
      ),
      '^/',
    ),
    components: closed(
      {
        securitySchemes: mapOf(
          closed({ type: { const: 'http' }, scheme: text, bearerFormat: text, description: text }, ['type', 'scheme']),
        ),
        schemas: mapOf(schema, '^[A-Za-z0-9._-]+$'),
      },
      [],
    ),
  },
  ['openapi', 'info', 'paths'],
);

test('it is an OpenAPI 3.1 document', () => {
  const validate = new Ajv2020({ strict: false, allErrors: true }).compile(openApi31);
  expect(validate(document) ? [] : validate.errors).toEqual([]);
});

test('every reference leads somewhere, and every operation has a name of its own', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference);
  expect(references.length).toBeGreaterThan(5);
  for (const reference of references) {
    expect(document.components.schemas).toHaveProperty(reference?.replace('#/components/schemas/', '') ?? '');
  }
  const names = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(names).size).toBe(names.length);
});

test('it describes every route, and no other', async () => {
  const { app } = makeStatusApi({
    verifier: { token: () => Promise.reject(), signature: () => Promise.reject() },
    sink: { receive: () => Promise.reject() },
    jwks: () => ({}),
    registry: new Registry(),
    log: silentLogger,
  });
  await app.ready();
  const routes = [...app.printRoutes({ commonPrefix: false }).matchAll(/(\/\S*) \(([A-Z, ]+)\)/g)].flatMap(
    ([, path, methods = '']) => methods.split(', ').map((method) => `${method} ${path}`),
  );
  await app.close();
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.sort()).toEqual(described.sort());
});

test('its schemas take what is sent and answered, and refuse what is not', () => {
  const ajv = newAjv();
  ajv.addKeyword('components');
  ajv.addSchema({ $id: 'document', components: document.components }, 'document', true, false);
  const of = (name: string) => ajv.compile({ $ref: `document#/components/schemas/${name}` });
  const resource = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Cache',
    namespace: 'team',
    name: 'sessions',
    uid: 'u',
  } as const;
  const event = statusEvent({ broker: 'azure', deploymentId: 'u/1/0', resource, sequence: 1, phase: 'ready' });
  const isEvent = of('Event');
  expect(isEvent(event)).toBe(true);
  expect(isEvent(heartbeatEvent({ broker: 'azure', version: '1', capabilities: [] }))).toBe(true);
  expect(isEvent({ ...event, data: { ...event.data, phase: 'failed' } })).toBe(false);
  expect(
    of('Problem')(
      new Problem(429, 'rate-limited', 'later', { more: { results: [{ id: 'x', result: 'retry' }] } }).body,
    ),
  ).toBe(true);
  expect(
    of('Results')({
      results: [
        { id: 'x', result: 'applied' },
        { result: 'refused', code: 'invalid', path: '/id', message: 'm' },
      ],
    }),
  ).toBe(true);
});
