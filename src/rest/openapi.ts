/** The OpenAPI 3.1 document, generated from the same route table as the server. */

import type { Route } from './route.ts';
import { type JsonSchema, ref, schemas } from './schemas.ts';

export function openApi(routes: readonly Route[]): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const item = paths[route.path] ?? {};
    item[route.method.toLowerCase()] = operation(route);
    paths[route.path] = item;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'kidp operator manager',
      version: '1.0.0',
      description:
        'Manages operators, their clusters and their rollouts. Every resource is an object of the Kubernetes API, and Kubernetes RBAC applies to every request.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      schemas,
    },
  };
}

function operation(route: Route): JsonSchema {
  const { roles } = route;
  const needs =
    route.open === true
      ? 'No token required.'
      : roles.length === 0
        ? 'Requires a valid token.'
        : `Roles: ${roles.join(', ')}.`;
  const limit = route.perMinute === undefined ? '' : ` Rate limit: ${route.perMinute} requests per minute and user.`;
  return {
    operationId: route.operationId,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description === undefined ? '' : `${route.description} `}${needs}${limit}`,
    ...(route.open === true ? { security: [] } : { 'x-roles': roles }),
    parameters: [...parametersOf(route.params, 'path'), ...parametersOf(route.query, 'query')],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: route.body.required,
            content: { 'application/json': { schema: route.body.schema } },
          },
        }),
    responses: responsesOf(route),
  };
}

const parametersOf = (parameters: Route['params'] | Route['query'], place: 'path' | 'query'): readonly JsonSchema[] =>
  Object.entries(parameters ?? {}).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    ...(place === 'path' ? { required: true } : {}),
    description,
    schema,
  }));

const descriptions: Readonly<Record<number, string>> = {
  400: 'The request is invalid: `errors` names every field.',
  401: 'The token is missing or rejected; `code` says why.',
  403: 'Forbidden by roles or RBAC, or denied by admission.',
  404: 'The object does not exist.',
  405: 'The path does not support this method.',
  409: 'The request conflicts with the current state.',
  410: 'The `continue` token has expired: start again.',
  413: 'The request or the object is too large.',
  415: 'Unsupported content type or compression.',
  429: 'Rate limit exceeded: retry after `Retry-After`.',
  500: 'Internal error: `traceId` finds the log entries.',
  503: 'Temporarily unavailable: retry after `Retry-After`.',
};

/** Status codes that every route can return. */
const always = [400, 401, 403, 405, 429, 500, 503];

function responsesOf({ answer, problems = [], body }: Route): JsonSchema {
  const { status, description, schema } = answer;
  const codes = [...always, ...problems, ...(body === undefined ? [] : [413, 415])].sort();
  return {
    [status]: {
      description,
      ...(schema === undefined ? {} : { content: { 'application/json': { schema } } }),
    },
    ...Object.fromEntries(
      codes.map((code) => [
        code,
        { description: descriptions[code], content: { 'application/problem+json': { schema: ref('Problem') } } },
      ]),
    ),
  };
}
