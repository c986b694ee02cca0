/** Mutates expressions and JSON texts, like typing errors and attacks. */
import type { Choices } from './choices.ts';

const fragments = [
  '((((((((((',
  '))))',
  '[[[[[[[[',
  '{{{{',
  '!!!!!!!!',
  '--------',
  '? :',
  '?.',
  '[?',
  '.?',
  '&& ||',
  '==',
  ' in ',
  "'",
  '"',
  "'''",
  '`',
  "r'",
  "b'",
  '\\',
  '\\u',
  '\\U0011FFFF',
  '\\uD800',
  '\u0000',
  '\u2028',
  '\ud800',
  '\udc00',
  '\ufeff',
  '//',
  '\n',
  ' __proto__ ',
  '.__proto__',
  '.constructor',
  '.toString()',
  "['__proto__']",
  '.hasOwnProperty',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '18446744073709551616u',
  '1e999',
  '0x',
  '1u',
  '-0.0',
  'NaN',
  '.all(x, true)',
  '.map(x, x)',
  '.exists(object, object)',
  '.filter(__result__, true)',
  '@result',
  "matches('(a+)+$')",
  ".matches('[')",
  "timestamp('9999-12-31T23:59:59Z')",
  "duration('999999h')",
  'has(',
  'dyn(',
  'type(',
  'Object{',
  'while(true){}',
  '$' + '{object}',
  '}); process.exit(1); ({',
  '*/ throw 1 /*',
];

/** Returns `expression` with one to four mutations. */
export function mutateExpression(choices: Choices, expression: string, others: readonly string[]): string {
  let text = expression;
  for (let count = 1 + choices.below(4); count > 0; count--) {
    const at = choices.below(text.length + 1);
    const span = choices.below(12);
    switch (choices.below(7)) {
      case 0:
        text = text.slice(0, at) + choices.pick(fragments) + text.slice(at);
        break;
      case 1:
        text = text.slice(0, at) + text.slice(at + span);
        break;
      case 2:
        text = text.slice(0, at + span) + text.slice(at);
        break;
      case 3: {
        const other = choices.pick(others);
        const from = choices.below(other.length);
        text = text.slice(0, at) + other.slice(from, from + 30) + text.slice(at);
        break;
      }
      case 4:
        text = text.slice(0, at) + String.fromCharCode(choices.below(0x80)) + text.slice(at + 1);
        break;
      case 5:
        text = choices.pick([
          `(${text})`,
          `!(${text})`,
          `[${text}][0]`,
          `{'a': ${text}}.a`,
          `-(${text})`,
          `${text} || true`,
        ]);
        break;
      default:
        text = text.replace(/\d+/, choices.pick(['9223372036854775807', '-9223372036854775808', '0', '1e308', '1u']));
    }
  }
  return text;
}

const values = [
  'null',
  '[]',
  '{}',
  '""',
  'true',
  '0',
  '-0',
  '-0.0',
  '1e308',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '18446744073709551615',
  '0.1',
  '{"__proto__":{"a":1},"constructor":{"prototype":{}}}',
  '{"__proto__":null}',
  '{"":1}',
  '"\\u0000"',
  '"\\u2028"',
  `${'['.repeat(200)}1${']'.repeat(200)}`,
  `${'{"a":'.repeat(200)}1${'}'.repeat(200)}`,
  `"${'a'.repeat(5_000)}!"`,
  `[${Array.from({ length: 500 }, (_, index) => index).join(',')}]`,
];

/** Returns JSON text with one to three values replaced. */
export function mutateJson(choices: Choices, text: string): string {
  let changed = text;
  for (let count = 1 + choices.below(3); count > 0; count--) {
    const places = [...changed.matchAll(/(?<=[:[,])("[^"\\]*"|-?\d[\d.eE+-]*|true|false|null)(?=[,\]}])/g)];
    const place = places[choices.below(places.length || 1)];
    if (place === undefined) return changed;
    changed = changed.slice(0, place.index) + choices.pick(values) + changed.slice(place.index + place[0].length);
  }
  return changed;
}
