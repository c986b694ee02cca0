import { expect, test } from 'vitest';
import { deadlineIn } from '../../review/deadline.ts';
import type { AdmissionRequest, Json } from '../../review/decode.ts';
import { secretReadersGate } from './secret-readers.ts';

const secret = { apiVersion: 'v1', kind: 'Secret' };
const written = (spec: Json, oldSpec?: Json, over: object = {}): AdmissionRequest =>
  ({
    uid: 'u',
    kind: { group: 'platform.company.com', version: 'v1', kind: 'Policy' },
    operation: oldSpec === undefined ? 'CREATE' : 'UPDATE',
    userInfo: { username: 'paula' },
    object: { metadata: { name: 'p' }, spec },
    ...(oldSpec === undefined ? {} : { oldObject: { metadata: { name: 'p' }, spec: oldSpec } }),
    ...over,
  }) as AdmissionRequest;
const reading = { context: [{ name: 'x', ...secret }] };

test.each([
  { reason: 'a new one that reads Secrets', request: written(reading), expected: true },
  { reason: 'params', request: written({ params: { ...secret, name: 'x' } }), expected: true },
  { reason: 'other rules', request: written({ ...reading, rules: [1] }, reading), expected: true },
  { reason: 'only other labels', request: written(reading, { ...reading }), expected: false },
  { reason: 'no Secrets any more', request: written({}, reading), expected: false },
  {
    reason: 'Secrets of the platform',
    request: written({ context: [{ ...secret, apiVersion: 'platform.company.com/v1' }] }),
    expected: false,
  },
  { reason: 'its status', request: written(reading, {}, { subResource: 'status' }), expected: false },
  { reason: 'malformed context', request: written({ context: 'x', params: [] }), expected: false },
])('applies: $reason: $expected', ({ request, expected }) => {
  expect(secretReadersGate().matches(request)).toBe(expected);
});

test('asks about exactly what is read, and names what is missing', async () => {
  const asked: unknown[] = [];
  const gate = secretReadersGate(() => async (questions) => {
    asked.push(...questions);
    return questions.map((_, index) => ({ allowed: index === 0 }));
  });
  const context = [
    { name: 'one', ...secret, resourceName: 'a', namespace: 'red' },
    { name: 'all', ...secret },
  ];
  const { violations } = await gate.evaluate(written({ context }), deadlineIn(1_000));
  expect(asked).toMatchObject([
    { verb: 'get', resource: 'secrets', group: '', namespace: 'red', name: 'a', subject: 'requester' },
    { verb: 'list', resource: 'secrets', group: '', namespace: '', name: '' },
  ]);
  expect(violations).toMatchObject([{ code: 'SecretReaderForbidden', field: 'spec.context[1]' }]);
});

test('without a cluster to ask it is denied', async () => {
  const { violations } = await secretReadersGate().evaluate(written(reading), deadlineIn(1_000));
  expect(violations).toHaveLength(1);
});
