import { describe, expect, test } from 'vitest';
import type { Environment } from '../../../../api/index.ts';
import type { UnknownObject } from '../../../../runtime/index.ts';
import { CrdVerdicts, type DefinitionVerdict, plannedDefinition, unplannedBreaks } from './crd-verdicts.ts';

/** A CRD whose `spec` has these fields. */
const definition = (fields: Readonly<Record<string, object>>, name = 'tools.example.com'): UnknownObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'tools', kind: 'Tool', singular: 'tool', listKind: 'ToolList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object', properties: fields } } },
        },
      },
    ],
  },
});

const text = { type: 'string' };
const number = { type: 'integer' };
const after = definition({ size: number, colour: text });
/** The verdict on a cluster whose CRD has these fields. */
const from = (fields: Readonly<Record<string, object>>): DefinitionVerdict =>
  new CrdVerdicts().compare(definition(fields), after);

const same = { size: number };
const sizeBreaks = { size: text };
const alsoOfAnotherKind = { size: text, colour: text };
const colourBreaks = { size: number, colour: number };
const bothBreak = { size: text, colour: number };

const planOf = (...found: readonly (readonly [Environment, Readonly<Record<string, object>>])[]) => {
  const planned = plannedDefinition(found.map(([environment, fields]) => ({ environment, verdict: from(fields) })));
  return { definitions: planned === undefined ? [] : [planned] };
};

describe('unplannedBreaks', () => {
  test.each<{
    reason: string;
    planned: readonly (readonly [Environment, Readonly<Record<string, object>>])[];
    found: Readonly<Record<string, object>>;
    unplannedBreaks: boolean;
  }>([
    {
      reason: 'the planned breaking change',
      planned: [['Production', sizeBreaks]],
      found: sizeBreaks,
      unplannedBreaks: false,
    },
    {
      reason: 'the planned breaking change with safe additions',
      planned: [['Production', sizeBreaks]],
      found: alsoOfAnotherKind,
      unplannedBreaks: false,
    },
    { reason: 'no breaking change', planned: [['Production', sizeBreaks]], found: same, unplannedBreaks: false },
    {
      reason: 'another breaking change of the same CRD',
      planned: [['Production', sizeBreaks]],
      found: colourBreaks,
      unplannedBreaks: true,
    },
    {
      reason: 'more breaking changes than planned',
      planned: [['Production', sizeBreaks]],
      found: bothBreak,
      unplannedBreaks: true,
    },
    {
      reason: 'approved for another environment',
      planned: [['Dev', sizeBreaks]],
      found: sizeBreaks,
      unplannedBreaks: true,
    },
    {
      reason: 'one of several planned breaking changes',
      planned: [
        ['Production', sizeBreaks],
        ['Production', bothBreak],
      ],
      found: bothBreak,
      unplannedBreaks: false,
    },
    { reason: 'an unknown breaking change', planned: [['Production', same]], found: sizeBreaks, unplannedBreaks: true },
  ])('$reason', ({ planned, found, unplannedBreaks: expected }) => {
    const surprises = unplannedBreaks(planOf(...planned), 'Production', [from(found)]);
    expect(surprises.map(({ name }) => name)).toEqual(expected ? ['tools.example.com'] : []);
  });

  test('an unreadable CRD is breaking, identified by the error', () => {
    const breakingDigest = { ...definition({}), spec: {} } as UnknownObject;
    const found = new CrdVerdicts().compare(breakingDigest, after);
    expect(found).toMatchObject({ verdict: 'breaking', breakingDigest: expect.stringMatching(/^sha256:/) });
    const planned = plannedDefinition([{ environment: 'Dev', verdict: found }]);
    expect(unplannedBreaks({ definitions: planned === undefined ? [] : [planned] }, 'Dev', [found])).toEqual([]);
  });
});

test('the plan lists each distinct breaking change once with its environments', () => {
  const { definitions } = planOf(
    ['Production', sizeBreaks],
    ['Dev', sizeBreaks],
    ['Production', alsoOfAnotherKind],
    ['Production', bothBreak],
    ['Staging', same],
  );
  expect(definitions).toMatchObject([{ verdict: 'breaking', environments: ['Dev', 'Production'] }]);
  expect(definitions[0]?.breaks?.map(({ environment }) => environment)).toEqual(['Dev', 'Production', 'Production']);
  expect(definitions[0]?.summary).toMatch(/size/);
  expect(definitions[0]?.summary).toMatch(/colour/);
  expect(definitions[0]).not.toHaveProperty('broken');
});
