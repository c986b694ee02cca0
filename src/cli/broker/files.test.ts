import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kafkaTls, platformKeys, priceTable, servingCertificate } from './files.ts';
import type { BrokerFlags } from './options.ts';

let folder: string;
const at = (name: string) => join(folder, name);
const flags = (more: Partial<BrokerFlags>) => more as BrokerFlags;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kidp-broker-files-'));
  writeFileSync(at('prices.yaml'), 'currency: EUR\nperHour: {Database: {small: 0.05}}\n');
  writeFileSync(at('negative.yaml'), 'currency: EUR\nperHour: {Database: {small: -1}}\n');
  writeFileSync(at('list.yaml'), '- 1\n');
  writeFileSync(at('broken.yaml'), 'a: [\n');
  writeFileSync(at('keys.json'), '{"keys": []}');
  writeFileSync(at('pem'), 'text');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('what cannot be used is bad input, in a sentence', () => {
  test.each([
    { reason: 'prices below nothing', read: () => priceTable(at('negative.yaml')), code: 'input/prices' },
    { reason: 'a list of prices', read: () => priceTable(at('list.yaml')), code: 'input/file' },
    { reason: 'no YAML', read: () => priceTable(at('broken.yaml')), code: 'input/file' },
    { reason: 'no file', read: () => platformKeys(flags({ platformKeys: at('missing') })), code: 'input/file' },
    {
      reason: 'half of a certificate for Kafka',
      read: () => kafkaTls(flags({ kafkaCa: at('pem') })),
      code: 'input/kafka-tls',
    },
    {
      reason: 'a certificate without its key',
      read: () => servingCertificate(flags({ tlsCert: at('pem') })),
      code: 'input/tls',
    },
  ])('$reason', ({ read, code }) => {
    expect(read).toThrow(expect.objectContaining({ code }));
  });
});

test('prices, keys and certificates are read', () => {
  expect(priceTable(undefined)).toBeUndefined();
  expect(priceTable(at('prices.yaml'))).toEqual({ currency: 'EUR', perHour: { Database: { small: 0.05 } } });
  const keys = platformKeys(flags({ platformKeys: at('keys.json') }));
  expect(typeof keys === 'function' ? keys() : keys).toEqual({ keys: [] });
  expect(platformKeys(flags({ platformKeys: 'https://kidp.example.com/.well-known/jwks.json' }))).toEqual({
    url: 'https://kidp.example.com/.well-known/jwks.json',
  });
  expect(kafkaTls(flags({}))).toBeUndefined();
  expect(kafkaTls(flags({ kafkaCa: at('pem'), kafkaCert: at('pem'), kafkaKey: at('pem') }))?.()).toEqual({
    ca: 'text',
    cert: 'text',
    key: 'text',
  });
  expect(servingCertificate(flags({ tlsCert: at('pem'), tlsKey: at('pem') }))?.current()).toEqual({
    certificate: 'text',
    key: 'text',
  });
});
