/**
 * Resolves plain (unquoted) YAML scalars the way Kubernetes clients do, which is between YAML 1.1 and 1.2: `yes` is true and `0644` is
 * 420, but a date stays a string. A reader that takes `0644` as 644 evaluates another object than the cluster gets.
 */

/** A number that JSON cannot represent, and that the API server rejects. */
export const notJson: unique symbol = Symbol('no JSON number');

/** `plainScalar` returns the value of an unquoted scalar. Integers beyond 2^53 are exact, as in CEL values. */
export function plainScalar(text: string): unknown {
  // A long text is not looked up: hashing it would read all of it.
  if (text.length <= LONGEST_WORD && words.has(text)) return words.get(text);
  const first = text.charCodeAt(0);
  // A number starts with a digit, a sign or a dot.
  if ((first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d || first === 0x2e) return numberOf(text);
  return text;
}

const words = new Map<string, unknown>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
]);

const LONGEST_WORD = Math.max(...[...words.keys()].map((word) => word.length));

const DECIMAL = /^[-+]?(?:0|[1-9][0-9]*)$/;
const BASED = /^([-+]?)(?:0x([0-9a-f]+)|0b([01]+)|0o?([0-7]+))$/i;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const NO_NUMBER = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

function numberOf(text: string): unknown {
  const digits = text.includes('_') ? text.replaceAll('_', '') : text;
  if (DECIMAL.test(digits)) return digits.length < 16 ? Number(digits) + 0 : exact(BigInt(digits.replace('+', '')));
  const based = BASED.exec(digits);
  if (based !== null) {
    const [, sign, hexadecimal, binary, octal] = based;
    const magnitude = BigInt(
      hexadecimal !== undefined ? `0x${hexadecimal}` : binary !== undefined ? `0b${binary}` : `0o${octal}`,
    );
    return exact(sign === '-' ? -magnitude : magnitude);
  }
  if (FLOAT.test(digits)) {
    const number = Number(digits) + 0;
    return Number.isFinite(number) ? number : notJson;
  }
  return NO_NUMBER.test(text) ? notJson : text;
}

/** `exact` returns integers beyond 2^53 as a bigint, and those beyond int64 as a double, as Kubernetes does. */
function exact(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) || value < -(2n ** 63n) || value >= 2n ** 63n ? number : value;
}
