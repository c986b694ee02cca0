import { expect, test } from 'vitest';
import { notJson, plainScalar } from './scalar.ts';

// The expected values are those of `kubectl annotate --local -o json`.
const rows: [string, unknown][] = [
  ['yes', true],
  ['on', true],
  ['y', true],
  ['No', false],
  ['off', false],
  ['true', true],
  ['', null],
  ['~', null],
  ['NULL', null],
  ['0644', 420],
  ['08', 8],
  ['1_000', 1000],
  ['0x1F', 31],
  ['0o17', 15],
  ['0b11', 3],
  ['+5', 5],
  ['-0', 0],
  ['1.0', 1],
  ['1e3', 1000],
  ['.5', 0.5],
  ['-.5', -0.5],
  ['5.', 5],
  ['9007199254740993', 9007199254740993n],
  ['12345678901234567890', Number('12345678901234567890')],
  ['2001-12-14', '2001-12-14'],
  ['1:30', '1:30'],
  ['=', '='],
  ['1.2.3', '1.2.3'],
  ['-', '-'],
  ['yess', 'yess'],
  ['tRue', 'tRue'],
  ['.inf', notJson],
  ['.NaN', notJson],
  ['1e999', notJson],
];
test.each(rows)('%s', (text, value) => {
  expect(plainScalar(text)).toBe(value);
});
