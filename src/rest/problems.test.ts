import { expect, test } from 'vitest';
import { FleetError } from '../fleet/index.ts';
import { ApiError, ConnectionError } from '../runtime/index.ts';
import { Problem } from '../runtime/internal.ts';
import { pointerOf, problemOf } from './problems.ts';

test.each([
  { field: 'spec.chart.repository', pointer: '/chart/repository' },
  { field: 'spec.versions[3].version', pointer: '/versions/3/version' },
  { field: 'metadata.name', pointer: '/name' },
  { field: 'metadata.labels[example.com/team]', pointer: '/labels/example.com~1team' },
  { field: 'spec', pointer: '/' },
])('$field is $pointer in the body', ({ field, pointer }) => {
  expect(pointerOf(field)).toBe(pointer);
});

const api = (status: number, reason: string, message = 'it is so') =>
  new ApiError({ doing: 'write', status, reason, message });

test.each([
  { reason: 'what the schema refuses', error: api(422, 'Invalid'), status: 400, code: 'invalid' },
  { reason: 'what RBAC refuses', error: api(403, 'Forbidden'), status: 403, code: 'forbidden' },
  {
    reason: 'what admission refuses',
    error: api(403, 'Forbidden', 'admission webhook "kidp" denied the request: no'),
    status: 403,
    code: 'denied',
  },
  {
    reason: 'a façade without its rights',
    error: api(403, 'Forbidden', 'users "ann" is forbidden: User "kidp" cannot impersonate resource "users"'),
    status: 503,
    code: 'unavailable',
  },
  { reason: 'a façade that nobody knows', error: api(401, 'Unauthorized'), status: 503, code: 'unavailable' },
  { reason: 'a name that is taken', error: api(409, 'AlreadyExists'), status: 409, code: 'exists' },
  { reason: 'somebody who was faster', error: api(409, 'Conflict'), status: 409, code: 'conflict' },
  { reason: 'a page of long ago', error: api(410, 'Expired'), status: 410, code: 'expired' },
  { reason: 'what is too large', error: api(413, 'RequestEntityTooLarge'), status: 413, code: 'oversized' },
  {
    reason: 'an API server that has too much to do',
    error: api(429, 'TooManyRequests'),
    status: 503,
    code: 'unavailable',
  },
  {
    reason: 'an API server that is away',
    error: new ConnectionError({ doing: 'get', failure: 'refused', message: 'no', hint: '' }),
    status: 503,
    code: 'unavailable',
  },
  {
    reason: 'a kubeconfig that is refused',
    error: new FleetError('cluster/kubeconfig-refused', 'no'),
    status: 400,
    code: 'cluster-kubeconfig-refused',
  },
  {
    reason: 'a chart that is not there',
    error: new FleetError('chart/missing', 'no'),
    status: 400,
    code: 'chart-missing',
  },
  { reason: 'a Helm that is not there', error: new FleetError('helm/missing', 'no'), status: 503, code: 'unavailable' },
  {
    reason: 'what takes longer than a request may',
    error: AbortSignal.abort(new DOMException('no', 'TimeoutError')).reason,
    status: 503,
    code: 'unavailable',
  },
  {
    reason: 'a caller who has gone',
    error: AbortSignal.abort().reason,
    status: 503,
    code: 'unavailable',
  },
  { reason: 'what is said already', error: new Problem(418, 'teapot', 'no'), status: 418, code: 'teapot' },
])('$reason: $status $code', ({ error, status, code }) => {
  expect(problemOf(error)).toMatchObject({ status, code });
});

test('a bug of ours is nothing that is explained to a caller', () => {
  expect(problemOf(new TypeError('undefined is not a function'))).toBeUndefined();
});

test('fields that Kubernetes names are named in the words of the body', () => {
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
