import { expect, test } from 'vitest';
import { definitionOf } from '../../../../test/support/operator-charts.ts';
import type { UnknownObject } from '../../../runtime/index.ts';
import { compatibilityOf, describeDefinitions } from './definitions.ts';

const definition = (maximum: number, name = 'shop') =>
  definitionOf({ name, version: '1.0.0', maximum }) as UnknownObject;

test.each([
  { reason: 'a new CRD', before: [], after: [definition(20)], expected: 'safe' },
  { reason: 'unchanged', before: [definition(20)], after: [definition(20)], expected: 'safe' },
  { reason: 'accepts more values', before: [definition(20)], after: [definition(30)], expected: 'safe' },
  { reason: 'accepts fewer values', before: [definition(20)], after: [definition(10)], expected: 'breaking' },
  { reason: 'a CRD is no longer in the chart', before: [definition(20)], after: [], expected: 'risky' },
  {
    reason: 'the worst verdict wins',
    before: [definition(20), definition(20, 'cart')],
    after: [definition(30), definition(10, 'cart')],
    expected: 'breaking',
  },
])('$reason: $expected', async ({ before, after, expected }) => {
  let validated = 0;
  const onValidated = () => {
    validated += 1;
  };
  expect(await compatibilityOf(before, after, onValidated)).toBe(expected);
  expect(validated).toBe(before.length);
});

test('describes each CRD by name, digest and versions, ignoring API server defaults', () => {
  const { described } = describeDefinitions([definition(20), definition(20, 'cart')]);
  expect(described).toEqual([
    { name: 'widgets.cart.example.com', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), versions: ['v1'] },
    { name: 'widgets.shop.example.com', digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), versions: ['v1'] },
  ]);
  const stored = { ...definition(20), spec: { ...(definition(20).spec as object), conversion: { strategy: 'None' } } };
  expect(describeDefinitions([stored]).described[0]?.digest).toBe(described[1]?.digest);
});

test('reports an unreadable CRD', () => {
  const odd = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'odd' } };
  expect(describeDefinitions([odd])).toEqual({
    described: [],
    problem: expect.stringMatching(/^CRD odd is invalid: /),
  });
});
