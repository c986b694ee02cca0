import { describe, expect, test } from 'vitest';
import type { DeploymentRecord } from '../record.ts';
import { invisibleBrokers } from './adoption.ts';

const record = (adopted = ''): DeploymentRecord => ({ notes: { adopted } }) as unknown as DeploymentRecord;

describe('what was taken over can be seen', () => {
  test.each([
    { reason: 'by what bears its name', formers: ['a'], records: [undefined], makers: ['a', 'a'], unseen: [] },
    { reason: 'by its record', formers: ['a'], records: [record()], makers: [], unseen: [] },
    { reason: 'by neither', formers: ['a'], records: [undefined], makers: ['here'], unseen: ['a'] },
    {
      reason: 'by what one made that came after it',
      formers: ['a', 'b'],
      records: [undefined, undefined],
      makers: ['b'],
      unseen: [],
    },
    {
      reason: 'not by what one made that came before it',
      formers: ['a', 'b'],
      records: [undefined, undefined],
      makers: ['a'],
      unseen: ['b'],
    },
    {
      reason: 'by the record of one that had taken over from it',
      formers: ['a', 'b'],
      records: [undefined, record('a')],
      makers: [],
      unseen: [],
    },
    {
      reason: 'not by the record of one that had not',
      formers: ['a', 'b'],
      records: [undefined, record()],
      makers: [],
      unseen: ['a'],
    },
  ])('$reason', ({ formers, records, makers, unseen }) => {
    expect(invisibleBrokers(formers, records, makers)).toEqual(unseen);
  });
});
