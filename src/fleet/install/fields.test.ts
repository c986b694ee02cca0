import { expect, test } from 'vitest';
import { fieldsGivenToHelm, fieldsTakenFromHelm } from './fields.ts';

const entry = (manager: string, operation: string, fieldsV1: object, more: object = {}) =>
  ({ manager, operation, apiVersion: 'v1', fieldsV1, ...more }) as never;
const webhook = (name: string, ...fields: readonly string[]) => ({
  'f:webhooks': { [`k:{"name":"${name}"}`]: Object.fromEntries(fields.map((each) => [each, {}])) },
});

test.each([
  {
    reason: 'what Helm has applied becomes what we have applied',
    given: [entry('helm', 'Apply', webhook('a', 'f:rules'))],
    expected: [entry('kidp-rollout', 'Apply', webhook('a', 'f:rules'))],
  },
  {
    reason: 'it is joined with what we have applied, also where an older Helm has updated it',
    given: [
      entry('helm', 'Update', webhook('a', 'f:rules')),
      entry('kidp-rollout', 'Apply', webhook('a', 'f:clientConfig')),
      entry('helm', 'Apply', webhook('b', '.')),
    ],
    expected: [
      entry('kidp-rollout', 'Apply', {
        'f:webhooks': {
          'k:{"name":"a"}': { 'f:clientConfig': {}, 'f:rules': {} },
          'k:{"name":"b"}': { '.': {} },
        },
      }),
    ],
  },
  {
    reason: 'what others have written stays theirs, and so does what we have marked',
    given: [
      entry('cainjector', 'Update', webhook('a', 'f:clientConfig')),
      entry('kidp-rollout', 'Update', { 'f:metadata': {} }),
      entry('helm', 'Apply', webhook('a', 'f:rules')),
    ],
    expected: [
      entry('cainjector', 'Update', webhook('a', 'f:clientConfig')),
      entry('kidp-rollout', 'Update', { 'f:metadata': {} }),
      entry('kidp-rollout', 'Apply', webhook('a', 'f:rules')),
    ],
  },
  {
    reason: 'a status is nobody’s business',
    given: [entry('helm', 'Update', {}, { subresource: 'status' })],
    expected: undefined,
  },
  { reason: 'nothing of Helm', given: [entry('kidp-rollout', 'Apply', {})], expected: undefined },
])('$reason', ({ given, expected }) => expect(fieldsTakenFromHelm(given)).toEqual(expected));

test('what we have applied becomes what Helm has applied, and what we have marked stays ours', () => {
  const marked = entry('kidp-rollout', 'Update', { 'f:metadata': {} });
  expect(
    fieldsGivenToHelm([
      entry('kidp-rollout', 'Apply', webhook('a', 'f:rules')),
      marked,
      entry('helm', 'Apply', webhook('b', '.')),
    ]),
  ).toEqual([
    marked,
    entry('helm', 'Apply', {
      'f:webhooks': { 'k:{"name":"b"}': { '.': {} }, 'k:{"name":"a"}': { 'f:rules': {} } },
    }),
  ]);
  expect(fieldsGivenToHelm([marked])).toBeUndefined();
});
