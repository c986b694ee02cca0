import { expect, test } from 'vitest';
import { progressOn } from './progress.ts';

function watched(isTTY: boolean) {
  let now = 0;
  let written = '';
  const progress = progressOn({ isTTY, write: (text) => (written += text) }, () => now);
  return {
    at(milliseconds: number, words: string) {
      now = milliseconds;
      progress.step(() => words);
    },
    end: () => progress.end(),
    written: () => written,
  };
}

test('what is done within a second says nothing', () => {
  const { at, end, written } = watched(true);
  at(0, 'a');
  at(999, 'b');
  end();
  expect(written()).toBe('');
});

test('on a screen one line is written over and wiped away in the end', () => {
  const { at, end, written } = watched(true);
  at(1000, 'a');
  at(1100, 'b');
  at(1200, 'c');
  end();
  expect(written()).toBe('\r\u001b[Ka\r\u001b[Kc\r\u001b[K');
});

test('in a log a line comes now and then', () => {
  const { at, end, written } = watched(false);
  for (const time of [1000, 2000, 11_000, 12_000]) at(time, String(time));
  end();
  expect(written()).toBe('1000\n11000\n');
});
