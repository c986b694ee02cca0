/** Documents that are no comparable CRD, and the issues that `readCrd` reports for them. */
import { describe, expect, test } from 'vitest';
import { crdOf, version } from './compare/support/definitions.ts';
import { type CrdIssueCode, readCrd } from './read.ts';

const withSchema = (schema: unknown): unknown => crdOf([version(schema as never)]);
const spec = (value: unknown): unknown => withSchema({ type: 'object', properties: { spec: value } });
const at = 'spec.versions[0].schema.openAPIV3Schema';

const rows: readonly { reason: string; value: unknown; code: CrdIssueCode; path: string }[] = [
  {
    reason: 'a field that JavaScript takes for something else',
    value: spec(JSON.parse('{"type": "object", "properties": {"__proto__": {"type": "string"}}}')),
    code: 'invalid',
    path: `${at}.properties.spec.properties`,
  },
  { reason: 'nothing', value: null, code: 'not-a-crd', path: '' },
  { reason: 'a list of documents', value: [], code: 'not-a-crd', path: '' },
  { reason: 'another kind', value: { apiVersion: 'v1', kind: 'Pod' }, code: 'not-a-crd', path: 'kind' },
  { reason: 'a List', value: { apiVersion: 'v1', kind: 'List', items: [] }, code: 'list', path: 'kind' },
  {
    reason: 'v1beta1',
    value: { apiVersion: 'apiextensions.k8s.io/v1beta1', kind: 'CustomResourceDefinition' },
    code: 'old-api-version',
    path: 'apiVersion',
  },
  {
    reason: 'no spec',
    value: { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'a' } },
    code: 'missing',
    path: 'spec',
  },
  {
    reason: 'no group',
    value: { ...crdOf({ type: 'object' }), spec: { ...crdOf({ type: 'object' }).spec, group: '' } },
    code: 'missing',
    path: 'spec.group',
  },
  {
    reason: 'versions that are no list',
    value: { ...crdOf({ type: 'object' }), spec: { ...crdOf({ type: 'object' }).spec, versions: {} } },
    code: 'wrong-type',
    path: 'spec.versions',
  },
  {
    reason: 'a selectable field that is nothing',
    value: crdOf([version({ type: 'object' }, { selectableFields: [null as never] })]),
    code: 'missing',
    path: 'spec.versions[0].selectableFields[0]',
  },
  {
    reason: 'a printer column whose path is no string',
    value: crdOf([
      version({ type: 'object' }, { additionalPrinterColumns: [{ name: 'a', type: 'string', jsonPath: 5 as never }] }),
    ]),
    code: 'wrong-type',
    path: 'spec.versions[0].additionalPrinterColumns[0].jsonPath',
  },
  {
    reason: 'a rule whose message is no string',
    value: spec({ type: 'object', 'x-kubernetes-validations': [{ rule: 'true', message: {} }] }),
    code: 'wrong-type',
    path: `${at}.properties.spec.x-kubernetes-validations`,
  },
  { reason: 'no schema', value: crdOf([{ name: 'v1', served: true, storage: true }]), code: 'missing', path: at },
  {
    reason: 'stored in no version',
    value: crdOf([version({ type: 'object' }, { storage: false })]),
    code: 'invalid',
    path: 'spec.versions',
  },
  {
    reason: 'one version twice',
    value: crdOf([version({ type: 'object' }), version({ type: 'object' }, { storage: false })]),
    code: 'invalid',
    path: 'spec.versions[1].name',
  },
  {
    reason: 'a root that is no object',
    value: withSchema({ type: 'string' }),
    code: 'not-structural',
    path: `${at}.type`,
  },
  { reason: 'a field without a type', value: spec({}), code: 'not-structural', path: `${at}.properties.spec.type` },
  {
    reason: 'a type that is none',
    value: spec({ type: 'text' }),
    code: 'not-structural',
    path: `${at}.properties.spec.type`,
  },
  {
    reason: 'a list of what',
    value: spec({ type: 'array' }),
    code: 'not-structural',
    path: `${at}.properties.spec.items`,
  },
  {
    reason: 'fields and a map',
    value: spec({ type: 'object', properties: { a: { type: 'string' } }, additionalProperties: { type: 'string' } }),
    code: 'not-structural',
    path: `${at}.properties.spec.additionalProperties`,
  },
  {
    reason: 'a type within anyOf',
    value: spec({ type: 'string', anyOf: [{ type: 'string' }] }),
    code: 'not-structural',
    path: `${at}.properties.spec.anyOf[0].type`,
  },
  {
    reason: 'a field that is only within oneOf',
    value: spec({ type: 'object', oneOf: [{ properties: { a: {} } }] }),
    code: 'not-structural',
    path: `${at}.properties.spec.oneOf[0].properties.a`,
  },
  {
    reason: 'a reference to itself',
    value: spec({ $ref: '#/definitions/spec' }),
    code: 'reference',
    path: `${at}.properties.spec.$ref`,
  },
];

describe('readCrd', () => {
  test.each(rows)('$reason', ({ value, code, path }) => {
    const { crd, issues } = readCrd(value);
    expect(crd).toBeUndefined();
    expect(issues[0]).toMatchObject({ code, path });
    expect(issues.every(({ message, next }) => message !== '' && next !== '')).toBe(true);
  });

  test('a definition that is one', () => {
    const mixed = { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] };
    expect(readCrd(spec(mixed))).toMatchObject({ issues: [], crd: { kind: 'CustomResourceDefinition' } });
  });

  test('a thousand levels are a place, not a stack that overflows', () => {
    let schema: unknown = { type: 'string' };
    for (let level = 0; level < 1000; level++) schema = { type: 'object', properties: { a: schema } };
    expect(readCrd(spec(schema)).issues).toMatchObject([{ code: 'too-deep' }]);
    let value: unknown = 1;
    for (let level = 0; level < 100_000; level++) value = [value];
    expect(readCrd(spec({ type: 'array', items: { type: 'string' }, default: value })).issues).toMatchObject([
      { code: 'too-deep' },
    ]);
  });

  test('a bomb of aliases is counted as what it stands for, and no further', () => {
    let bomb: unknown = { type: 'string' };
    for (let level = 0; level < 40; level++) bomb = { type: 'object', properties: { a: bomb, b: bomb } };
    expect(readCrd(spec(bomb)).issues).toMatchObject([{ code: 'too-large' }]);
    const ring: Record<string, unknown> = { type: 'object' };
    ring.properties = { ring };
    expect(readCrd(spec(ring)).issues).toMatchObject([{ code: 'too-deep' }]);
  });

  test('of 200,000 equal errors the first fifty are reported', () => {
    const properties = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`field${index}`, {}]));
    expect(readCrd(spec({ type: 'object', properties })).issues).toHaveLength(50);
  });
});
