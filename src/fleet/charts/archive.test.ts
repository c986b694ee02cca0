import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pack, unpack } from './archive.ts';

test('packing round-trips and is reproducible', async () => {
  const name = fc.stringMatching(/^[a-z]{1,60}$/);
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
  const files = fc.uniqueArray(fc.tuple(path, fc.uint8Array({ maxLength: 1500 })), {
    minLength: 1,
    maxLength: 5,
    selector: ([each]) => each,
  });
  await fc.assert(
    fc.asyncProperty(files, async (entries) => {
      const content = new Map(entries.map(([each, data]) => [each, Buffer.from(data)]));
      const packed = pack('chart', content);
      const unpacked = await unpack(packed);
      expect(new Map([...unpacked].map(([each, data]) => [each.replace(/^chart\//, ''), data]))).toEqual(content);
      expect(pack('chart', new Map([...content].reverse()))).toEqual(packed);
    }),
    { numRuns: 30 },
  );
});

const tampered = (change: (tar: Buffer) => Buffer): Buffer => {
  const tar = Buffer.alloc(1024 + 1024);
  const header = Buffer.alloc(512);
  header.write('chart/Chart.yaml', 0);
  header.write('00000000004\0', 124);
  header.write('0', 156);
  header.copy(tar);
  tar.write('abcd', 512);
  return gzipSync(change(tar));
};

test.each([
  { reason: 'no gzip', bytes: Buffer.from('hello'), message: 'it is not a complete gzip file' },
  {
    reason: 'a truncated gzip file',
    bytes: tampered((tar) => tar).subarray(0, 30),
    message: 'it is not a complete gzip file',
  },
  { reason: 'nothing in it', bytes: gzipSync(Buffer.alloc(1024)), message: 'the archive has no files' },
  {
    reason: 'a truncated tar file',
    bytes: tampered((tar) => tar.subarray(0, 514)),
    message: 'the archive is truncated',
  },
  {
    reason: 'an invalid size',
    bytes: tampered((tar) => {
      tar.write('zzzz', 124);
      return tar;
    }),
    message: 'the archive is damaged',
  },
  {
    reason: 'a path outside',
    bytes: tampered((tar) => {
      tar.write('../../etc/passwd\0', 0);
      return tar;
    }),
    message: 'a path outside of the archive',
  },
  {
    reason: 'a path outside, with backslashes',
    bytes: tampered((tar) => {
      tar.write('chart\\..\\..\\passwd\0', 0);
      return tar;
    }),
    message: 'a path outside of the archive',
  },
  {
    reason: 'a decompression bomb',
    bytes: gzipSync(Buffer.alloc(33 * 1024 * 1024), { level: 1 }),
    message: 'it is larger than 32 MiB unpacked',
  },
])('$reason is refused', async ({ bytes, message }) => {
  await expect(unpack(bytes)).rejects.toMatchObject({
    code: 'chart/invalid',
    message: expect.stringContaining(message),
  });
});

const large = Buffer.alloc(5 * 1024 * 1024 + 1, ' ');

test.each([
  'Chart.yaml',
  'crds/all.yaml',
  'charts/part/crds/all.yaml',
  'values.schema.json',
])('a large %s is not read', async (path) => {
  await expect(unpack(pack('chart', new Map([[path, large]])))).rejects.toMatchObject({
    code: 'chart/invalid',
    message: `The chart cannot be read: chart/${path} is larger than 5 MiB`,
  });
  expect((await unpack(pack('chart', new Map([[path, large.subarray(1)]])))).size).toBe(1);
});

test('other files may be as large as the archive', async () => {
  expect((await unpack(pack('chart', new Map([['files/data.txt', large]])))).size).toBe(1);
});
