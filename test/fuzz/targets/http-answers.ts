import { AnswerReader, BadAnswer } from '../../../src/runtime/transport/wire/answer-reader.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

export const target: Target = {
  about: 'HTTP answers: read the same, in whatever pieces they are received',
  modules: ['src/runtime/transport/wire/answer-reader.ts'],
  words: [
    '\r\n',
    '\r\n\r\n',
    '\n',
    'HTTP/1.1 200 OK',
    'HTTP/1.1 100 Continue',
    'HTTP/1.0 200 OK',
    'HTTP/1.1 204 ',
    'HTTP/1.1 101 ',
    'Content-Length: 5',
    'Content-Length: 0',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'Connection: close',
    'Connection: keep-alive',
    'hello',
    '5\r\nhello\r\n',
    '0\r\n\r\n',
    ';a=b',
    '\t',
    '+5',
    '0x5',
    'ffffffffffffffff',
  ],
  mostBytes: 1_024,
  seeds: () => [
    'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n',
    'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end',
    'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n',
  ],
  run(input) {
    for (const method of ['GET', 'HEAD']) {
      const whole = eventsOf(input, method, input.length);
      for (const size of [1, 7]) {
        const pieces = eventsOf(input, method, size);
        ensure(whole === pieces, 'an answer does not depend on its pieces', () => `${whole}\n${pieces}`);
      }
    }
  },
};

function eventsOf(input: Buffer, method: string, size: number): string {
  const events: string[] = [];
  let body = '';
  const reader = new AnswerReader({
    proceed: () => void events.push('proceed'),
    head: (status, headers) => void events.push(`${status} ${JSON.stringify(headers)}`),
    data: (chunk) => {
      body += chunk.toString('latin1');
    },
    end: (reusable) => void events.push(`${JSON.stringify(body)} ${reusable}`),
  });
  reader.expect(method);
  try {
    for (let at = 0; at < input.length; at += size) reader.take(input.subarray(at, at + size));
  } catch (error) {
    if (!(error instanceof BadAnswer)) throw error;
    // How much of a body was passed on before the error depends on the pieces.
    return [...events, 'refused'].join('\n');
  }
  return [...events, JSON.stringify(body)].join('\n');
}
