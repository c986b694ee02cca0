/** Checks against the API server that it rejects exactly the definitions that `refusedParts` reports. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CrdIssueCode, type CrdSchema, readCrd, refusedParts } from '../../src/crd-compat/index.ts';
import { ApiError, type Client, connect, loadKubeconfig } from '../../src/runtime/index.ts';
import { definitions } from '../admission/support/platform.ts';
import { sharedCluster } from '../support/cluster.ts';
import { definition } from './support/corpus/index.ts';

let client: Client;
beforeAll(() => {
  client = connect(loadKubeconfig({ file: sharedCluster().kubeconfig }));
});
afterAll(() => client.close());

interface Row {
  readonly reason: string;
  readonly field: CrdSchema;
  /** Undefined if the definition is accepted. */
  readonly code?: CrdIssueCode;
  /** The path, relative to the field. */
  readonly at?: string;
}

const ruled = (rule: string, more: object = {}) => ({ 'x-kubernetes-validations': [{ rule, ...more }] });
const within = (field: CrdSchema): CrdSchema => ({ type: 'object', properties: { b: field } });

const rows: readonly Row[] = [
  { reason: 'a default of another type', field: { type: 'string', default: 5 }, code: 'default', at: '.default' },
  { reason: 'a default of its type', field: { type: 'string', default: 'x' } },
  { reason: 'a default that is null', field: { type: 'string', default: null } },
  {
    reason: 'a default over the maximum',
    field: { type: 'integer', maximum: 3, default: 4 },
    code: 'default',
    at: '.default',
  },
  {
    reason: 'a default that is not in the enum',
    field: { type: 'string', enum: ['a'], default: 'b' },
    code: 'default',
    at: '.default',
  },
  {
    reason: 'a default that the pattern does not match',
    field: { type: 'string', pattern: '^a+$', default: 'b' },
    code: 'default',
    at: '.default',
  },
  { reason: 'a default that anyOf accepts', field: { type: 'integer', anyOf: [{ minimum: 3 }], default: 4 } },
  {
    reason: 'a default with a field that is not named',
    field: { ...within({ type: 'string' }), default: { c: 1 } },
    code: 'default',
    at: '.default',
  },
  {
    reason: 'a default with a field that is not named, where those are kept',
    field: { ...within({ type: 'string' }), 'x-kubernetes-preserve-unknown-fields': true, default: { c: 1 } },
  },
  {
    reason: 'a default without a field that must be there and has a default of its own',
    field: { ...within({ type: 'string', default: 'x' }), required: ['b'], default: {} },
    code: 'default',
    at: '.default',
  },
  {
    reason: 'a default that a rule fails',
    field: { type: 'integer', default: 5, ...ruled('self > 9') },
    code: 'default',
    at: '.default',
  },
  {
    reason: 'a default that a rule around it fails',
    field: { ...within({ type: 'integer', default: 5 }), ...ruled('!has(self.b) || self.b > 9') },
  },
  {
    reason: 'a default that cannot follow itself',
    field: { type: 'integer', default: 5, ...ruled('self > oldSelf') },
    code: 'default',
    at: '.default',
  },
  {
    reason: 'a default of a set, with an element twice',
    field: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set', default: ['a', 'a'] },
  },
  {
    reason: 'a default in the items of a list',
    field: { type: 'array', items: within({ type: 'string', default: 5 }) },
    code: 'default',
    at: '.items.properties.b.default',
  },
  {
    reason: 'a default for the values of a map, which never comes to be',
    field: { type: 'object', additionalProperties: { type: 'string', default: 'x' } },
  },
  {
    reason: 'a pattern that looks behind',
    field: { type: 'string', pattern: '(?<=x)y[' },
    code: 'pattern',
    at: '.pattern',
  },
  {
    reason: 'a pattern that repeats too often',
    field: { type: 'string', pattern: 'a{1001}' },
    code: 'pattern',
    at: '.pattern',
  },
  { reason: 'a pattern of Go', field: { type: 'string', pattern: '^(?P<name>\\pL+)\\z' } },
  {
    reason: 'a pattern in anyOf',
    field: { type: 'string', anyOf: [{ pattern: '(' }] },
    code: 'pattern',
    at: '.anyOf[0].pattern',
  },
  {
    reason: 'a pattern of a field in not',
    field: { ...within({ type: 'string' }), not: { properties: { b: { pattern: '(' } } } },
    code: 'pattern',
    at: '.not.properties.b.pattern',
  },
  {
    reason: 'a pattern in a map',
    field: { type: 'object', additionalProperties: { type: 'string', pattern: '*' } },
    code: 'pattern',
    at: '.additionalProperties.pattern',
  },
  {
    reason: 'a rule about a field that is not there',
    field: { ...within({ type: 'string' }), ...ruled('self.nope > 1') },
    code: 'rule',
    at: '.x-kubernetes-validations[0].rule',
  },
  {
    reason: 'a rule that is no truth',
    field: { type: 'string', ...ruled('self') },
    code: 'rule',
    at: '.x-kubernetes-validations[0].rule',
  },
  {
    reason: 'a rule that does not parse',
    field: { type: 'string', ...ruled('self ==') },
    code: 'rule',
    at: '.x-kubernetes-validations[0].rule',
  },
  {
    reason: 'a rule that says nothing',
    field: { type: 'string', ...ruled('') },
    code: 'rule',
    at: '.x-kubernetes-validations[0].rule',
  },
  {
    reason: 'a message that does not compile',
    field: { type: 'string', ...ruled("self != 'a'", { messageExpression: '1 +' }) },
    code: 'rule',
    at: '.x-kubernetes-validations[0].messageExpression',
  },
  {
    reason: 'a message that is a number',
    field: { type: 'string', ...ruled("self != 'a'", { messageExpression: '1' }) },
    code: 'rule',
    at: '.x-kubernetes-validations[0].messageExpression',
  },
  {
    reason: 'a rule and a message',
    field: { type: 'string', maxLength: 9, ...ruled("self != 'a'", { messageExpression: "'not ' + self" }) },
  },
  {
    reason: 'a rule that looks at the metadata of a resource within',
    field: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      ...ruled("self.metadata.name != 'a'"),
    },
  },
];

test.each(rows)('$reason: $code', async ({ field, code, at }) => {
  const made = definition({ type: 'object', properties: { spec: { type: 'object', properties: { a: field } } } });
  const said = await client.create(definitions, made as never, { dryRun: true }).then(
    () => '',
    (error: unknown) => {
      if (error instanceof ApiError) return error.message;
      throw error;
    },
  );
  const { crd, issues } = readCrd(structuredClone(made));
  if (crd === undefined) throw new Error(JSON.stringify(issues));
  const found = refusedParts(undefined, crd);
  expect({ said: said !== '', found: found.length > 0 }, said).toEqual({
    said: code !== undefined,
    found: code !== undefined,
  });
  if (code === undefined) return;
  const around = 'spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a';
  expect(found[0]).toMatchObject({ code, path: `${around}${at}` });
});
