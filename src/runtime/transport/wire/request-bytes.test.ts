import { describe, expect, it } from 'vitest';
import { heldBytes, requestBytes } from './request-bytes.ts';

const get = { origin: '', method: 'GET', path: '/api', headers: ['accept', 'application/json'] };
const sent = (request: Parameters<typeof requestBytes>[0]) => {
  const bytes = requestBytes(request, 'a:6443');
  return typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
};

describe('a request on the wire', () => {
  const cases: { reason: string; request: Parameters<typeof requestBytes>[0]; bytes: string | Buffer }[] = [
    {
      reason: 'without a body',
      request: get,
      bytes: 'GET /api HTTP/1.1\r\nhost: a:6443\r\naccept: application/json\r\n\r\n',
    },
    {
      reason: 'a POST without a body says so',
      request: { ...get, method: 'POST', headers: [] },
      bytes: 'POST /api HTTP/1.1\r\nhost: a:6443\r\ncontent-length: 0\r\n\r\n',
    },
    {
      reason: 'a body of ASCII',
      request: { ...get, method: 'PATCH', headers: [], body: '{}' },
      bytes: 'PATCH /api HTTP/1.1\r\nhost: a:6443\r\ncontent-length: 2\r\n\r\n{}',
    },
    {
      reason: 'a body of anything else, whose length is in bytes',
      request: { ...get, method: 'PUT', headers: [], body: '"ü€"' },
      bytes: 'PUT /api HTTP/1.1\r\nhost: a:6443\r\ncontent-length: 7\r\n\r\n"ü€"',
    },
    {
      reason: 'a body of bytes',
      request: { ...get, method: 'PUT', headers: [], body: Uint8Array.of(0, 255) },
      bytes: Buffer.concat([
        Buffer.from('PUT /api HTTP/1.1\r\nhost: a:6443\r\ncontent-length: 2\r\n\r\n'),
        Buffer.of(0, 255),
      ]),
    },
    {
      reason: 'a header of Latin-1 beside a body of anything else',
      request: { ...get, method: 'PUT', headers: ['impersonate-user', 'jürgen'], body: '"€"' },
      bytes: Buffer.concat([
        Buffer.from(
          'PUT /api HTTP/1.1\r\nhost: a:6443\r\nimpersonate-user: jürgen\r\ncontent-length: 5\r\n\r\n',
          'latin1',
        ),
        Buffer.from('"€"'),
      ]),
    },
  ];
  for (const { reason, request, bytes } of cases) {
    it(reason, () => expect(sent(request)).toEqual(Buffer.from(bytes)));
  }

  it('announces a body that is held back with its length and Expect, and computes its path only then', () => {
    const held = { ...get, method: 'PUT', path: () => '/now?timeout=5ms', body: Buffer.from('"ü"') };
    expect(heldBytes(held, 'a:6443')).toBe(
      'PUT /now?timeout=5ms HTTP/1.1\r\nhost: a:6443\r\naccept: application/json\r\nexpect: 100-continue\r\ncontent-length: 4\r\n\r\n',
    );
    expect(() => heldBytes({ ...held, path: () => '/a b' }, 'a')).toThrow(TypeError);
  });

  const refused: { reason: string; request: Parameters<typeof requestBytes>[0] }[] = [
    { reason: 'a path with a line break', request: { ...get, path: '/a\r\nx: y' } },
    { reason: 'a path with a space', request: { ...get, path: '/a b' } },
    { reason: 'a path that is an address', request: { ...get, path: 'http://elsewhere/' } },
    { reason: 'a method with a space', request: { ...get, method: 'GET /x' } },
    {
      reason: 'a value with a line break',
      request: { ...get, headers: ['impersonate-user', 'a\r\nimpersonate-group: b'] },
    },
    { reason: 'a value that Latin-1 does not have', request: { ...get, headers: ['impersonate-user', '€'] } },
    { reason: 'a name with a colon', request: { ...get, headers: ['a:b', 'c'] } },
  ];
  for (const { reason, request } of refused) {
    it(`refuses ${reason}`, () => expect(() => requestBytes(request, 'a')).toThrow(TypeError));
  }
});
