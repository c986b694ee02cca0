import { describe, expect, it } from 'vitest';
import { countLines, formatProgress, isDownload, isPackage, type Progress, renderProgress } from './progress.ts';

const base = { asset: 'kubernetes', version: '1.36.3' } as const;

describe('what Go prints', () => {
  const lines = [
    { line: 'k8s.io/api/core/v1', counts: true, reason: 'a package' },
    { line: 'unicode/utf8', counts: true, reason: 'a package of the standard library' },
    { line: '# k8s.io/api/core/v1', counts: false, reason: 'the heading of an error' },
    { line: './main.go:3:1: syntax error', counts: false, reason: 'an error' },
    { line: 'go: downloading k8s.io/api v0.36.3', counts: false, reason: 'a download' },
    { line: '', counts: false, reason: 'nothing' },
  ];
  it.each(lines)('$reason is a package: $counts', ({ line, counts }) => {
    expect(isPackage(line)).toBe(counts);
  });

  it('is counted whole however it is cut', () => {
    const text = 'go: downloading a v1\ngo: finding b\ngo: downloading c v2\n';
    for (let cut = 0; cut <= text.length; cut++) {
      const counts: number[] = [];
      const feed = countLines(isDownload, (count) => counts.push(count));
      feed(text.slice(0, cut));
      feed(text.slice(cut));
      expect(counts).toEqual([1, 2]);
    }
  });
});

describe('formatProgress', () => {
  const rows: { progress: Progress; text: string }[] = [
    {
      progress: { ...base, step: 'compile', done: 412, total: 1310, seconds: 190.7 },
      text: 'building kubernetes 1.36.3: 412 of 1,310 packages, 3 min 10 s',
    },
    {
      progress: { ...base, step: 'download', done: 3, total: 120, seconds: 4 },
      text: 'downloading kubernetes 1.36.3: 3 of about 120 modules, 4 s',
    },
    {
      progress: { asset: 'kafka', version: '4.3.1', step: 'download', done: 3, total: 46, unit: 'jars', seconds: 4 },
      text: 'downloading kafka 4.3.1: 3 of about 46 jars, 4 s',
    },
    {
      progress: { asset: 'kafka', version: '4.3.1', step: 'prepare', done: 1, total: 1, seconds: 4 },
      text: 'preparing kafka 4.3.1, 4 s',
    },
    {
      progress: { ...base, step: 'link', done: 1, total: 1, seconds: 60 },
      text: 'linking kubernetes 1.36.3, 1 min 0 s',
    },
    {
      progress: { ...base, step: 'wait', done: 0, total: 1, seconds: 2, processId: 77 },
      text: 'waiting for process 77, which is building kubernetes 1.36.3, 2 s',
    },
    {
      progress: { ...base, step: 'done', done: 1, total: 1, seconds: 2 },
      text: 'kubernetes 1.36.3 is ready after 2 s',
    },
  ];
  it.each(rows)('$text', ({ progress, text }) => {
    expect(formatProgress(progress)).toBe(text);
  });
});

describe('renderProgress', () => {
  const compile = (done: number): Progress => ({ ...base, step: 'compile', done, total: 9, seconds: done });

  it('writes a line at a new step and every 15 s where there is no terminal', () => {
    const written: string[] = [];
    let now = 0;
    const render = renderProgress({ write: (text) => written.push(text) }, () => now);
    for (const [time, progress] of [
      [0, compile(1)],
      [14_999, compile(2)],
      [15_000, compile(3)],
      [15_001, { ...compile(4), step: 'link' }],
      [15_002, { ...compile(4), step: 'link' }],
    ] as const) {
      now = time;
      render(progress);
    }
    expect(written.map((line) => line.split(' ')[0] + (line.match(/\d+ of/)?.[0] ?? ''))).toEqual([
      'building1 of',
      'building3 of',
      'linking',
    ]);
    expect(written.every((line) => line.endsWith('\n'))).toBe(true);
  });

  it('rewrites one line of a terminal, never wider than it, and ends it when done', () => {
    const written: string[] = [];
    const render = renderProgress({ isTTY: true, columns: 20, write: (text) => written.push(text) });
    render(compile(1));
    render({ ...compile(1), step: 'done' });
    expect(written[0]).toBe('\r\u001b[2Kbuilding kubernetes');
    expect(written[1]).toBe('\r\u001b[2Kkubernetes 1.36.3 i\n');
  });
});
