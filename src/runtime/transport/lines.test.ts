import { describe, expect, it } from 'vitest';
import { LineTooLong, splitLines } from './lines.ts';

describe('splitting a stream into lines', () => {
  const text = '{"a":"ü€😀"}\n{"b":1}\n\n{"c":"x"}\n';
  const expected = ['{"a":"ü€😀"}', '{"b":1}', '{"c":"x"}'];
  for (const size of [1, 2, 3, 5, 64]) {
    it(`holds characters and objects together that chunks of ${size} tear apart`, () => {
      const lines: string[] = [];
      const splitter = splitLines(1_000, (line) => lines.push(line));
      const bytes = Buffer.from(text);
      for (let start = 0; start < bytes.length; start += size) splitter.push(bytes.subarray(start, start + size));
      expect(lines).toEqual(expected);
      expect(splitter.pending).toBe(0);
    });
  }

  it('reports the buffered bytes of an incomplete line', () => {
    const splitter = splitLines(1_000, () => {});
    splitter.push(Buffer.from('{"a":1}\n{"b"'));
    expect(splitter.pending).toBe(4);
  });

  it('rejects a line beyond the limit, complete or not', () => {
    expect(() => splitLines(10, () => {}).push(Buffer.from(`${'x'.repeat(11)}\n`))).toThrow(LineTooLong);
    const splitter = splitLines(10, () => {});
    splitter.push(Buffer.from('123456'));
    expect(() => splitter.push(Buffer.from('789012'))).toThrow(LineTooLong);
  });

  it('joins a line of very many chunks once', () => {
    let length = 0;
    const splitter = splitLines(1 << 28, (line) => {
      length = line.length;
    });
    const chunk = Buffer.alloc(16, 'x');
    for (let count = 0; count < 200_000; count += 1) splitter.push(chunk);
    splitter.push(Buffer.from('\n'));
    expect(length).toBe(3_200_000);
  });
});
