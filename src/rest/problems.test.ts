import { expect, test } from 'vitest';
import { FleetError } from '../fleet/index.ts';
import { ApiError, ConfigError, ConnectionError } from '../runtime/index.ts';
import { Problem } from '../runtime/internal.ts';
import { pointerOf, problemOf } from './problems.ts';

test.each([
  { field: 'spec.chart.repository', pointer: '/chart/repository' },
  { field: 'spec.versions[3].version', pointer: '/versions/3/version' },
  { field: 'metadata.name', pointer: '/name' },
  { field: 'metadata.labels[example.com/team]', pointer: '/labels/example.com~1team' },
  { field: 'spec', pointer: '/' },
])('maps $field to $pointer', ({ field, pointer }) => {
  expect(pointerOf(field)).toBe(pointer);
});

const api = (status: number, reason: string, message = 'message') =>
  new ApiError({ doing: 'write', status, reason, message });

test.each([
  { reason: 'rejected by the schema', error: api(422, 'Invalid'), status: 400, code: 'invalid' },
  { reason: 'rejected by RBAC', error: api(403, 'Forbidden'), status: 403, code: 'forbidden' },
  {
    reason: 'denied by admission',
    error: api(403, 'Forbidden', 'admission webhook "kidp" denied the request: no'),
    status: 403,
    code: 'denied',
  },
  {
    reason: 'the façade must not impersonate',
    error: api(403, 'Forbidden', 'users "ann" is forbidden: User "kidp" cannot impersonate resource "users"'),
    status: 503,
    code: 'unavailable',
  },
  { reason: 'the façade is not authenticated', error: api(401, 'Unauthorized'), status: 503, code: 'unavailable' },
  { reason: 'the name is in use', error: api(409, 'AlreadyExists'), status: 409, code: 'exists' },
  { reason: 'a concurrent change', error: api(409, 'Conflict'), status: 409, code: 'conflict' },
  { reason: 'an expired continue token', error: api(410, 'Expired'), status: 410, code: 'expired' },
  { reason: 'too large', error: api(413, 'RequestEntityTooLarge'), status: 413, code: 'oversized' },
  {
    reason: 'the API server is overloaded',
    error: api(429, 'TooManyRequests'),
    status: 503,
    code: 'unavailable',
  },
  {
    reason: 'the API server is unreachable',
    error: new ConnectionError({ doing: 'get', failure: 'refused', message: 'no', hint: '' }),
    status: 503,
    code: 'unavailable',
  },
  {
    reason: 'an invalid kubeconfig',
    error: new FleetError('cluster/kubeconfig-refused', 'no'),
    status: 400,
    code: 'cluster-kubeconfig-refused',
  },
  {
    reason: 'a missing chart',
    error: new FleetError('chart/missing', 'no'),
    status: 400,
    code: 'chart-missing',
  },
  { reason: 'Helm is not installed', error: new FleetError('helm/missing', 'no'), status: 503, code: 'unavailable' },
  {
    reason: 'request timeout',
    error: AbortSignal.abort(new DOMException('no', 'TimeoutError')).reason,
    status: 503,
    code: 'unavailable',
  },
  {
    reason: 'the caller disconnected',
    error: AbortSignal.abort().reason,
    status: 503,
    code: 'unavailable',
  },
  { reason: 'a Problem is kept', error: new Problem(418, 'teapot', 'no'), status: 418, code: 'teapot' },
])('$reason: $status $code', ({ error, status, code }) => {
  expect(problemOf(error)).toMatchObject({ status, code });
});

test('hides an unexpected error from the caller', () => {
  expect(problemOf(new TypeError('undefined is not a function'))).toBeUndefined();
});

test('maps the field paths of Kubernetes to JSON Pointers into the body', () => {
  const error = new ApiError({
    doing: 'write',
    status: 422,
    reason: 'Invalid',
    message: 'it is invalid',
    details: {
      causes: [
        { field: 'spec.clusters', message: 'say which' },
        { field: '<nil>', message: 'all of it' },
      ],
    },
  });
  expect(problemOf(error)?.body).toMatchObject({
    detail: 'it is invalid',
    errors: [{ path: '/clusters', message: 'say which' }],
  });
});

const inside = 'https://10.0.0.1:6443 failed, see /var/run/secrets/token';

test.each([
  {
    reason: 'an unreachable API server',
    error: new ConnectionError({ doing: 'get', failure: 'refused', message: inside, hint: inside }),
  },
  { reason: 'an unreadable file', error: new ConfigError({ code: 'token', message: inside, hint: inside }) },
  { reason: 'an error of the API server', error: api(500, 'InternalError', inside) },
  { reason: 'the identity of the platform', error: api(401, 'Unauthorized', inside) },
  { reason: 'Helm', error: new FleetError('helm/failed', inside) },
])('names nothing internal: $reason', ({ error }) => {
  expect(JSON.stringify(problemOf(error)?.body)).not.toMatch(/10\.0\.0\.1|\/var/);
  expect(problemOf(error)).toMatchObject({ status: 503 });
});

test('a bug is left to the server, which answers without details', () => {
  expect(problemOf(new TypeError(inside))).toBeUndefined();
});
