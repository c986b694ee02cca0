/** The search for witnesses in a definition with more changes than searches. */
import { expect, test } from 'vitest';
import { type CrdSchema, compareCrds } from '../index.ts';
import { crdOf } from './support/definitions.ts';

/**
 * A limit of two items on a set with two possible values affects nobody. For a pattern, it is not known that there are
 * only two values.
 */
const undecided = (more: CrdSchema): CrdSchema => ({
  type: 'array',
  'x-kubernetes-list-type': 'set',
  items: { type: 'string', pattern: '^[ab]$' },
  ...more,
});

const definition = (count: number, more: CrdSchema, fields: Readonly<Record<string, CrdSchema>>) =>
  crdOf({
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        properties: {
          ...Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, undecided(more)])),
          ...fields,
        },
      },
    },
  });

const COUNT = 640;

test('a change that nothing shows is not breaking because the searches are used up', () => {
  const { verdict, changes } = compareCrds(definition(COUNT, {}, {}), definition(COUNT, { maxItems: 2 }, {}));
  expect(changes).toHaveLength(COUNT);
  const found = new Set(changes.map((change) => `${change.kind} ${change.class} by ${change.decidedBy}`));
  expect([...found]).toEqual(['max-items-added risky by syntax']);
  expect(verdict).toBe('risky');
});

test('what breaks is still found, and shown', () => {
  const before = definition(
    COUNT,
    {},
    {
      last: { type: 'integer' },
      lastDefault: { type: 'string', default: 'a' },
      lastGone: { type: 'string' },
      lastRequired: { type: 'object', properties: { name: { type: 'string' } } },
      lastRule: { type: 'integer' },
      lastType: { type: 'string' },
    },
  );
  const after = definition(
    COUNT,
    { maxItems: 2 },
    {
      last: { type: 'integer', maximum: 5 },
      lastDefault: { type: 'string', default: 'b' },
      lastRequired: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      lastRule: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self < 5' }] },
      lastType: { type: 'boolean' },
    },
  );
  const { changes } = compareCrds(before, after);
  const breaking = changes.filter((change) => change.class === 'breaking');
  expect(breaking.map(({ path, witness }) => [path, witness?.object !== undefined])).toEqual(
    ['last', 'lastDefault', 'lastGone', 'lastRequired.name', 'lastRule', 'lastType'].map((name) => [
      `.spec.${name}`,
      true,
    ]),
  );
});
