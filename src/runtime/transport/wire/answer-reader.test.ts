import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerReader, BadAnswer } from './answer-reader.ts';

interface Read {
  status: number;
  headers: Record<string, unknown>;
  body: string;
  reusable: boolean | undefined;
}

/**
 * Reads all answers in the bytes, split into pieces of these sizes (the last size is repeated), with one request before
 * each answer.
 */
function read(
  bytes: string,
  sizes: readonly number[] = [bytes.length],
  method = 'GET',
  proceed: (answersBefore: number) => void = () => {},
): Read[] {
  const answers: Read[] = [];
  const reader = new AnswerReader({
    proceed: () => proceed(answers.length),
    head: (status, headers) => answers.push({ status, headers: { ...headers }, body: '', reusable: undefined }),
    data: (chunk) => {
      (answers.at(-1) as Read).body += chunk.toString('latin1');
    },
    end: (reusable) => {
      (answers.at(-1) as Read).reusable = reusable;
      reader.expect(method);
    },
  });
  reader.expect(method);
  // All pieces share one buffer, like the reads of a socket into the same memory.
  const memory = Buffer.alloc(bytes.length);
  for (let position = 0, piece = 0; position < bytes.length; piece += 1) {
    const size = Math.max(1, sizes[Math.min(piece, sizes.length - 1)] ?? 1);
    const written = memory.write(bytes.slice(position, position + size), 'latin1');
    reader.take(memory.subarray(0, written));
    position += written;
    memory.fill('#');
  }
  reader.close();
  return answers;
}

const ok = 'HTTP/1.1 200 OK\r\n';

describe('reading answers', () => {
  const cases: { reason: string; bytes: string; method?: string; reads: Partial<Read>[] }[] = [
    {
      reason: 'a body of known length',
      bytes: `${ok}Content-Length: 5\r\n\r\nhello`,
      reads: [{ status: 200, body: 'hello', reusable: true, headers: { 'content-length': '5' } }],
    },
    {
      reason: 'chunks, with an extension, a trailer and the next answer behind them',
      bytes: `${ok}Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\nA\r\n, chunks!!\r\n0\r\nX-Trailer: 1\r\n\r\n${ok}Content-Length: 0\r\n\r\n`,
      reads: [
        { body: 'hello, chunks!!', reusable: true },
        { body: '', reusable: true },
      ],
    },
    {
      reason: 'no length: all until the connection ends',
      bytes: `${ok}\r\nall there is`,
      reads: [{ body: 'all there is', reusable: false }],
    },
    {
      reason: 'the server closes after it',
      bytes: `${ok}Connection: Close\r\nContent-Length: 1\r\n\r\nx`,
      reads: [{ body: 'x', reusable: false }],
    },
    {
      reason: 'HTTP/1.0 keeps a connection only if it says so',
      bytes: 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx',
      reads: [{ body: 'x', reusable: false }],
    },
    {
      reason: 'interim answers are passed over',
      bytes: `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${ok}Content-Length: 1\r\n\r\nx`,
      reads: [{ status: 200, body: 'x' }],
    },
    { reason: '204 has no body', bytes: 'HTTP/1.1 204 No Content\r\n\r\n', reads: [{ status: 204, reusable: true }] },
    {
      reason: 'the answer to HEAD has none, whatever it says',
      method: 'HEAD',
      bytes: `${ok}Content-Length: 500\r\n\r\n`,
      reads: [{ status: 200, body: '', reusable: true }],
    },
    {
      reason: 'a header that comes twice, an empty one, and no phrase',
      bytes: 'HTTP/1.1 429 \r\nWarning: 299 - "a"\r\nwarning:299 - "b"\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n',
      reads: [{ status: 429, headers: { warning: ['299 - "a"', '299 - "b"'], 'x-empty': '', 'content-length': '0' } }],
    },
    {
      reason: 'a header with the name of what every object has',
      bytes: `${ok}__proto__: x\r\nconstructor: y\r\nContent-Length: 0\r\n\r\n`,
      reads: [{ status: 200, reusable: true }],
    },
  ];
  for (const { reason, bytes, method, reads } of cases) {
    for (const size of [bytes.length, 1, 3]) {
      it(`${reason} (in pieces of ${size})`, () => expect(read(bytes, [size], method)).toMatchObject(reads));
    }
  }

  const refused: { reason: string; bytes: string }[] = [
    { reason: 'another protocol', bytes: 'SSH-2.0-OpenSSH_9.6\r\n\r\n' },
    { reason: 'HTTP/2 without being asked', bytes: 'HTTP/2 200 OK\r\n\r\n' },
    { reason: 'a length and chunks', bytes: `${ok}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n` },
    { reason: 'two lengths', bytes: `${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\n` },
    { reason: 'a length that is no number', bytes: `${ok}Content-Length: 0x5\r\n\r\n` },
    { reason: 'another transfer encoding', bytes: `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n` },
    { reason: 'a header that goes on in the next line', bytes: `${ok}A: b\r\n c\r\n\r\n` },
    { reason: 'a space before the colon', bytes: `${ok}Content-Length : 5\r\n\r\n` },
    { reason: 'a header without a colon', bytes: `${ok}nothing\r\n\r\n` },
    { reason: 'a chunk without a size', bytes: `${ok}Transfer-Encoding: chunked\r\n\r\n\r\n` },
    { reason: 'a chunk of a negative size', bytes: `${ok}Transfer-Encoding: chunked\r\n\r\n-5\r\n` },
    { reason: 'a chunk that is longer than it says', bytes: `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\nhello\r\n` },
    { reason: 'a line that ends as in Unix', bytes: `${ok}Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n` },
    { reason: 'a switch of the protocol', bytes: 'HTTP/1.1 101 Switching Protocols\r\n\r\n' },
    { reason: 'a head without an end', bytes: `${ok}A: ${'x'.repeat(70_000)}` },
    { reason: 'a line without an end', bytes: `${ok}Transfer-Encoding: chunked\r\n\r\n1${';'.repeat(10_000)}` },
  ];
  for (const { reason, bytes } of refused) {
    for (const size of [bytes.length, 100]) {
      it(`refuses ${reason} (in pieces of ${size})`, () => expect(() => read(bytes, [size])).toThrow(BadAnswer));
    }
  }

  it('reports 100 Continue and no other interim answer', () => {
    const answer = `${ok}Content-Length: 0\r\n\r\n`;
    const reported: number[] = [];
    const bytes = `HTTP/1.1 103 Early Hints\r\n\r\n${answer}HTTP/1.1 100 Continue\r\n\r\n${answer}`;
    expect(read(bytes, [7], 'PUT', (before) => reported.push(before))).toHaveLength(2);
    expect(reported).toEqual([1]);
  });

  it('rejects unsolicited bytes', () => {
    const reader = new AnswerReader({ proceed() {}, head() {}, data() {}, end() {} });
    expect(() => reader.take(Buffer.from(ok))).toThrow(BadAnswer);
    reader.expect('GET');
    expect(() => reader.take(Buffer.from(`${ok}Content-Length: 1\r\n\r\nxy`))).toThrow(BadAnswer);
  });

  it('detects a truncated answer', () => {
    for (const bytes of [`${ok}Content-Length: 5\r\n\r\nhell`, `${ok}Transfer-Encoding: chunked\r\n\r\n0\r\n`, ok]) {
      expect(read(bytes)).not.toContainEqual(expect.objectContaining({ reusable: expect.any(Boolean) }));
    }
  });

  it('reads the same answers from any pieces', () => {
    const chunked = fc
      .array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), { maxLength: 8 })
      .map((chunks) => ({
        body: chunks.join(''),
        bytes: `${ok}Transfer-Encoding: chunked\r\n\r\n${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`,
      }));
    const whole = fc
      .string({ maxLength: 80, unit: 'binary-ascii' })
      .map((body) => ({ body, bytes: `${ok}Content-Length: ${body.length}\r\nA: b\r\n\r\n${body}` }));
    fc.assert(
      fc.property(
        fc.array(fc.oneof(chunked, whole), { minLength: 1, maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 10 }),
        (answers, sizes) => {
          const found = read(answers.map(({ bytes }) => bytes).join(''), sizes);
          expect(found.map(({ body }) => body)).toEqual(answers.map(({ body }) => body));
        },
      ),
    );
  });
});
