/**
 * The API server validates names, kind and apiVersion by the schema as well, even if the old schema did not mention
 * them.
 */
import { expect, test } from 'vitest';
import { type CrdSchema, compareCrds } from '../index.ts';
import { crdOf } from './support/definitions.ts';

const rootOf = (properties: Readonly<Record<string, CrdSchema>>): CrdSchema => ({ type: 'object', properties });
const named = (name: CrdSchema): CrdSchema => ({
  type: 'object',
  properties: { metadata: { type: 'object', properties: { name: { type: 'string', ...name } } } },
});
const plain = rootOf({ metadata: { type: 'object' } });
const { kind } = crdOf(plain).spec.names;
const embedded = (metadata?: CrdSchema): CrdSchema =>
  rootOf({
    spec: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      ...(metadata === undefined ? {} : { properties: { metadata } }),
    },
  });

test.each<{ reason: string; before: CrdSchema; after: CrdSchema; verdict: string }>([
  {
    reason: 'names may be longer than that',
    before: plain,
    after: named({ maxLength: 20 }),
    verdict: 'breaking',
  },
  {
    reason: 'also where metadata was not named',
    before: rootOf({}),
    after: named({ maxLength: 20 }),
    verdict: 'breaking',
  },
  {
    reason: 'names may begin with any letter',
    before: plain,
    after: named({ pattern: '^[a-m]' }),
    verdict: 'breaking',
  },
  { reason: 'one name is left', before: plain, after: named({ enum: ['default'] }), verdict: 'breaking' },
  { reason: 'no name is longer than that', before: plain, after: named({ maxLength: 253 }), verdict: 'safe' },
  { reason: 'no name has anything else', before: plain, after: named({ pattern: '^[a-z0-9.-]+$' }), verdict: 'safe' },
  { reason: 'shorter ones stay', before: named({ maxLength: 20 }), after: named({ maxLength: 30 }), verdict: 'safe' },
  { reason: 'all names again', before: named({ maxLength: 20 }), after: plain, verdict: 'safe' },
  {
    reason: 'fewer names than before',
    before: named({ maxLength: 30 }),
    after: named({ maxLength: 20 }),
    verdict: 'breaking',
  },
  {
    reason: 'resources inside have names as well',
    before: embedded(),
    after: embedded({ type: 'object', properties: { name: { type: 'string', maxLength: 20 } } }),
    verdict: 'breaking',
  },
  ...(
    [
      ['self.metadata.name.size() <= 10', 'breaking', 'names may be longer, also by a rule'],
      ["!self.metadata.name.endsWith('-tmp')", 'breaking', 'names may end so'],
      ["self.metadata.name.matches('^[a-z]+$')", 'breaking', 'names may have more than letters'],
      ["!self.metadata.name.contains('.')", 'breaking', 'names may have dots'],
      ["self.metadata.name != 'kube-system'", 'breaking', 'it may be called that'],
      ["self.metadata.name != 'Kube_System'", 'risky', 'nothing is called that, which is not proved'],
      [
        '!has(self.metadata.generateName) || size(self.metadata.generateName) < 9',
        'breaking',
        'so may what it begins with',
      ],
    ] as const
  ).map(([rule, verdict, reason]) => ({
    reason,
    before: plain,
    after: { ...plain, 'x-kubernetes-validations': [{ rule }] },
    verdict,
  })),
  {
    reason: 'every object of a kind says so',
    before: plain,
    after: rootOf({ kind: { type: 'string', enum: [kind] } }),
    verdict: 'safe',
  },
  {
    reason: 'no object is of another kind',
    before: plain,
    after: rootOf({ kind: { type: 'string', enum: ['Other'] } }),
    verdict: 'breaking',
  },
  {
    reason: 'every apiVersion has a group and a version here',
    before: plain,
    after: rootOf({ apiVersion: { type: 'string', pattern: '^[^/]+/v1$' } }),
    verdict: 'safe',
  },
])('$reason', ({ before, after, verdict }) => {
  const found = compareCrds(crdOf(before), crdOf(after));
  expect(found.verdict).toBe(verdict);
  if (verdict === 'breaking') expect(found.changes.some(({ witness }) => witness?.object !== undefined)).toBe(true);
});

test.each([
  'constructor',
  'toString',
  'valueOf',
])('a field called %s that is removed is that and nothing else', (name) => {
  const spec = (properties: Readonly<Record<string, CrdSchema>>): CrdSchema =>
    rootOf({ spec: { type: 'object', properties } });
  const { changes } = compareCrds(
    crdOf(spec({ a: { type: 'string' }, [name]: { type: 'string' } })),
    crdOf(spec({ a: { type: 'string' } })),
  );
  expect(changes.map((change) => change.kind)).toEqual(['field-removed']);
});
