import { expect, test } from 'vitest';
import { escaping, withoutCommands } from './streams.ts';

const written = (text: string, isTTY: boolean): string => {
  const parts: string[] = [];
  escaping({ write: (part) => parts.push(part), isTTY }).write(text);
  return parts.join('');
};

test.each([
  { reason: 'a window title', text: 'a\u001b]0;evil\u0007', shown: 'a\\u001b]0;evil\\u0007' },
  { reason: 'a cleared screen', text: 'a\u001b[2Jb', shown: 'a\\u001b[2Jb' },
  { reason: 'the eight-bit form', text: 'a\u009b2Jb', shown: 'a\\u009b2Jb' },
  { reason: 'hidden text', text: 'a\u001b[8mb', shown: 'a\\u001b[8mb' },
  { reason: 'reversed text', text: 'a\u202eb', shown: 'a\\u202eb' },
  { reason: 'an overwritten line', text: 'denied\rallowed\n', shown: 'denied\\u000dallowed\n' },
  { reason: 'a moved cursor within a line', text: 'a\u001b[3A\u001b[0Jb', shown: 'a\\u001b[3A\\u001b[0Jb' },
])('$reason does not reach a terminal or a pipe', ({ text, shown }) => {
  expect(written(text, true)).toBe(shown);
  expect(written(text, false)).toBe(shown);
});

test.each([
  { reason: 'colours', text: '\u001b[31mdenied\u001b[0m: a\n' },
  { reason: 'a redrawn view', text: '\u001b[3A\u001b[0Ja\n' },
  { reason: 'a rewritten line', text: '\r\u001b[Ka' },
  { reason: 'rows of CSV, tabs and letters', text: 'a,b\r\n\tä✓你\n' },
])('our own output is kept: $reason', ({ text }) => expect(written(text, true)).toBe(text));

test.each([
  { reason: 'a command', text: 'a\n::stop-commands::x\n', shown: 'a\n: :stop-commands::x\n' },
  { reason: 'a command after spaces', text: '  ::error::x', shown: '  : :error::x' },
  { reason: 'a command of the old form, anywhere', text: 'a ##[stop-commands]x', shown: 'a ## [stop-commands]x' },
  { reason: 'no command', text: 'a.yaml:1:2: x::y', shown: 'a.yaml:1:2: x::y' },
])('GitHub Actions carries out no text of others: $reason', ({ text, shown }) =>
  expect(withoutCommands(text)).toBe(shown));
