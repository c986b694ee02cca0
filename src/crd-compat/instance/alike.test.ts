import { describe, expect, test } from 'vitest';
import { alikeLists, keyOfAlike } from './alike.ts';

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `name${index}`);

describe('lists of one item over and over', () => {
  const rows: { reason: string; values: readonly unknown[]; length: number; key: string | undefined }[] = [
    { reason: 'a long one is known by its key', values: names(40), length: 32, key: 'name' },
    { reason: 'a short one is as quickly gone through', values: names(40), length: 15, key: undefined },
    {
      reason: 'where keys are objects, more than a plain value differs',
      values: names(40).map((name) => ({ name })),
      length: 32,
      key: undefined,
    },
    { reason: 'null is an object to who asks for its type', values: [...names(40), null], length: 32, key: undefined },
    { reason: 'no more than there are values for the key', values: names(20), length: 32, key: 'name' },
  ];
  test.each(rows)('$reason', ({ values, length, key }) => {
    const list = alikeLists({ name: 'first', port: 1 }, 'name', values)(length);
    expect(list).toEqual(values.slice(0, length).map((name) => ({ name, port: 1 })));
    expect(keyOfAlike(list)).toBe(key);
  });

  test('a copy of such a list is any list: nobody has promised anything about it', () => {
    const list = alikeLists({ port: 1 }, 'name', names(32))(32);
    expect(keyOfAlike([...list])).toBeUndefined();
  });
});
