/** The OpenAPI 3.1 document of the status API. Its event schemas are the published ones. */
import { brokerEventKinds, eventDefinitions, type JsonSchema } from '../contract/index.ts';
import { MAX_EVENTS } from './batch.ts';

export function openApi(): JsonSchema {
  return {
    openapi: '3.1.0',
    info: {
      title: 'kidp status API',
      version: '1.0.0',
      description:
        'Brokers report the state of deployments, heartbeats and costs here. A report may be sent more than once: it has an effect once.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [],
    paths: {
      '/v1/status': { post: postStatus },
      '/.well-known/jwks.json': {
        get: page('getKeys', 'The public keys of the platform', 'application/jwk-set+json', {
          type: 'object',
          required: ['keys'],
          properties: { keys: { type: 'array', items: { type: 'object' } } },
        }),
      },
      '/openapi.json': { get: page('getOpenApi', 'This document', 'application/json', { type: 'object' }) },
      '/healthz': { get: page('getHealth', 'Whether the server runs', 'text/plain', { type: 'string' }) },
      '/readyz': {
        get: page(
          'getReadiness',
          'Whether reports are accepted now',
          'text/plain',
          { type: 'string' },
          {
            503: { description: 'Not ready.', content: { 'text/plain': { schema: { type: 'string' } } } },
          },
        ),
      },
    },
    components: {
      securitySchemes: {
        broker: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'A JWT that the broker signs (EdDSA or ES256, with `kid`): `iss` and `sub` as its Broker object says, `aud` the issuer of the platform, `scope` with `status:write`, at most an hour until `exp`.',
        },
      },
      schemas: { ...eventSchemas(), Event: anyEvent, Result: result, Results: results, Problem: problem },
    },
  };
}

const ref = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

const nameOf = { status: 'StatusEvent', heartbeat: 'HeartbeatEvent', usage: 'UsageEvent' } as const;

/** Inside the document the schemas have no address of their own. */
function eventSchemas(): Record<string, JsonSchema> {
  return Object.fromEntries(
    brokerEventKinds.map((kind) => {
      const { $schema: _dialect, $id: _address, ...schema } = eventDefinitions[kind].schema;
      return [nameOf[kind], schema];
    }),
  );
}

const anyEvent: JsonSchema = { oneOf: brokerEventKinds.map((kind) => ref(nameOf[kind])) };
const batch: JsonSchema = { type: 'array', minItems: 1, maxItems: MAX_EVENTS, items: ref('Event') };

const result: JsonSchema = {
  type: 'object',
  required: ['result'],
  properties: {
    id: { type: 'string', description: 'The id of the event.' },
    result: {
      type: 'string',
      enum: ['applied', 'duplicate', 'stale', 'refused', 'retry'],
      description: '`duplicate` and `stale` changed nothing and are not errors. `retry`: send the event again.',
    },
    code: { type: 'string', description: 'Why the event was refused, for programs.' },
    path: { type: 'string', description: 'The place in the event, as a JSON Pointer.' },
    message: { type: 'string', description: 'Why the event was refused, for people.' },
  },
};

const results: JsonSchema = {
  type: 'object',
  required: ['results'],
  properties: { results: { type: 'array', items: ref('Result'), description: 'In the order of the events.' } },
};

const problem: JsonSchema = {
  description: 'Problem details (RFC 9457).',
  type: 'object',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'A stable code for programs.' },
    detail: { type: 'string', description: 'A message for people.' },
    path: { type: 'string', description: 'The place in the event, as a JSON Pointer.' },
    results: { type: 'array', items: ref('Result'), description: 'The results of a batch.' },
  },
};

const retryAfterHeader = {
  'Retry-After': { description: 'Seconds to wait before the next request.', schema: { type: 'integer', minimum: 1 } },
};

const refusal = (description: string, headers?: JsonSchema): JsonSchema => ({
  description,
  ...(headers === undefined ? {} : { headers }),
  content: { 'application/problem+json': { schema: ref('Problem') } },
});

const postStatus: JsonSchema = {
  operationId: 'postStatus',
  summary: 'Report one event, or a batch',
  description: `At most 1 MiB and ${MAX_EVENTS} events. Events of one object are applied in order.`,
  security: [{ broker: [] }],
  parameters: [
    {
      name: 'traceparent',
      in: 'header',
      description: 'W3C trace context; the one in an event takes precedence.',
      schema: { type: 'string' },
    },
  ],
  requestBody: {
    required: true,
    content: {
      'application/cloudevents+json': { schema: ref('Event') },
      'application/cloudevents-batch+json': { schema: batch },
      'application/json': { schema: { oneOf: [ref('Event'), batch] } },
    },
  },
  responses: {
    202: {
      description: 'Accepted. For a batch, the result of each event.',
      content: { 'application/json': { schema: { oneOf: [ref('Result'), ref('Results')] } } },
    },
    400: refusal('The body cannot be parsed.'),
    401: refusal('The token was rejected; `code` says why.', {
      'WWW-Authenticate': { description: 'As in RFC 6750.', schema: { type: 'string' } },
    }),
    403: refusal('The token lacks the scope, or the target of the object uses another broker.'),
    404: refusal('The object does not exist.'),
    405: refusal('The method is not allowed.'),
    409: refusal('The deployment was never dispatched.'),
    413: refusal('The body or the batch is too large.'),
    415: refusal('The content type is not supported, or the body is compressed.'),
    422: refusal('The event does not conform to its schema.'),
    429: refusal('Too many reports.', retryAfterHeader),
    500: refusal('An internal error of the platform.'),
    503: refusal('Temporarily unavailable: send the events again.', retryAfterHeader),
  },
};

const page = (
  operationId: string,
  summary: string,
  type: string,
  schema: JsonSchema,
  more: JsonSchema = {},
): JsonSchema => ({
  operationId,
  summary,
  responses: { 200: { description: summary, content: { [type]: { schema } } }, ...more },
});
