import { expect, test } from 'vitest';
import { definitionOf } from '../../../test/support/operator-charts.ts';
import { type Crd, compareCrds } from '../../crd-compat/index.ts';
import { noTracer } from '../../runtime/index.ts';
import type { Known, KnownDefinitions } from '../definitions.ts';
import type { Call } from '../route.ts';
import { crdRoutes } from './crds.ts';

const definition = definitionOf({ name: 'shop', version: '1.0.0' }) as unknown as Crd;
const { name } = definition.metadata;
const known: Known = { operator: 'shop', version: '1.0.0', load: async () => definition };

test.each([
  { reason: 'no version is known', before: undefined, body: { definition }, counts: 1 },
  { reason: 'it is compared', before: known, body: { definition }, counts: 1 },
  { reason: 'it could not be read', before: known, body: { definition: {} }, counts: 0 },
  { reason: 'there is no such version', before: undefined, body: { definition, version: '9.9.9' }, counts: 0 },
  {
    reason: 'the comparison took too long',
    before: { ...known, load: () => Promise.reject(new Error('late')) },
    body: { definition },
    counts: 0,
  },
])('counts $counts validations if $reason', async ({ before, body, counts }) => {
  let validated = 0;
  const definitions = {
    newest: async () => before,
    compare: async (one: Crd, other: Crd) => compareCrds(one, other),
    onValidated: () => {
      validated += 1;
    },
  } as unknown as KnownDefinitions;
  const route = crdRoutes(definitions).find(({ operationId }) => operationId === 'validateCrd');
  const { signal } = new AbortController();
  const call = { params: { name }, body, signal, tracer: noTracer } as unknown as Call;
  await route?.run(call).catch(() => undefined);
  expect(validated).toBe(counts);
});
