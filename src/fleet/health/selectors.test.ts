/** Selectors of webhooks, and labels that they take. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { labelsFor, selects } from './selectors.ts';
import type { LabelSelector } from './shapes.ts';

const expression = (operator: string, values?: string[]): LabelSelector => ({
  matchExpressions: [{ key: 'a', operator, ...(values === undefined ? {} : { values }) }],
});

describe('a selector', () => {
  const rows: {
    reason: string;
    selector: LabelSelector | undefined;
    labels: Record<string, string>;
    selected: boolean;
  }[] = [
    { reason: 'none takes everything', selector: undefined, labels: {}, selected: true },
    { reason: 'an equal label', selector: { matchLabels: { a: '1' } }, labels: { a: '1' }, selected: true },
    { reason: 'another value', selector: { matchLabels: { a: '1' } }, labels: { a: '2' }, selected: false },
    { reason: 'one of a list', selector: expression('In', ['1', '2']), labels: { a: '2' }, selected: true },
    { reason: 'none of a list', selector: expression('NotIn', ['1']), labels: { a: '1' }, selected: false },
    { reason: 'not there is none of a list', selector: expression('NotIn', ['1']), labels: {}, selected: true },
    { reason: 'there', selector: expression('Exists'), labels: { a: '' }, selected: true },
    { reason: 'not there', selector: expression('DoesNotExist'), labels: { a: '' }, selected: false },
    {
      reason: 'an operator that nobody knows takes nothing',
      selector: expression('Near'),
      labels: { a: '' },
      selected: false,
    },
  ];
  for (const { reason, selector, labels, selected } of rows) {
    it(reason, () => expect(selects(selector, labels)).toBe(selected));
  }

  it('takes the labels that were made for it, or none can be made', () => {
    const word = fc.constantFrom('a', 'b', 'c');
    const selector = fc.record({
      matchLabels: fc.dictionary(word, word),
      matchExpressions: fc.array(
        fc.record({
          key: word,
          operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist'),
          values: fc.array(word, { minLength: 1, maxLength: 3 }),
        }),
        { maxLength: 4 },
      ),
    });
    fc.assert(
      fc.property(selector, (given) => {
        const labels = labelsFor(given);
        expect(labels === undefined || selects(given, labels)).toBe(true);
      }),
    );
  });

  it('that contradicts itself has no labels', () => {
    const selector = { matchLabels: { a: '1' }, matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] };
    expect(labelsFor(selector)).toBeUndefined();
  });
});
