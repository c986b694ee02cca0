import { expect, test } from 'vitest';
import { ApiError, type Client } from '../../../../runtime/index.ts';
import { secretValues } from './secret-values.ts';

const encoded = (text: string): string => Buffer.from(text).toString('base64');

/** A client for the platform namespace with these Secrets. */
const clientWith = (secrets: Readonly<Record<string, object>>): Pick<Client, 'get'> => ({
  get: (async (_: unknown, { name }: { name: string }) => {
    const found = secrets[name];
    if (found === undefined) throw new ApiError({ doing: 'get', status: 404, reason: 'NotFound', message: 'none' });
    return found;
  }) as Client['get'],
});

const label = 'platform.company.com/values-for';
const secret = (labels: object, data: object) => ({ metadata: { labels }, data });
const client = clientWith({
  shop: secret({ [label]: 'shop' }, { 'values.yaml': encoded('a: 1'), 'Dev.yaml': encoded('a: 2') }),
  other: secret({ [label]: 'other' }, { 'values.yaml': encoded('a: hidden') }),
  unlabelled: secret({}, { 'values.yaml': encoded('a: hidden') }),
  broken: secret({ [label]: 'shop' }, { 'values.yaml': encoded('a: hidden: b') }),
});
const read = (name: string) => secretValues(client, { namespace: 'kidp-system', name }, 'shop', 'Dev');

test('values for all environments come first', async () => {
  expect(await read('shop')).toEqual([{ a: 1 }, { a: 2 }]);
});

test.each([
  { reason: 'the Secret of another Operator', name: 'other', says: `label ${label}=shop` },
  { reason: 'a Secret without the label', name: 'unlabelled', says: `label ${label}=shop` },
  { reason: 'a missing Secret gives the same error', name: 'none', says: `label ${label}=shop` },
  { reason: 'invalid YAML is not quoted', name: 'broken', says: 'is not valid YAML' },
])('rejects $reason', async ({ name, says }) => {
  await expect(read(name)).rejects.toMatchObject({ code: 'chart/invalid', message: expect.stringContaining(says) });
  await expect(read(name)).rejects.not.toThrow(/hidden/);
});
