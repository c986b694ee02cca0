/** Compares the expectation of a test with the actual result and describes the differences. */
import type { Json } from '../request.ts';
import type { Expectation } from './request.ts';

/** The actual result of a test. */
export interface Actual {
  readonly allowed: boolean;
  /** The texts of the denials. */
  readonly denials: readonly string[];
  readonly warnings: readonly string[];
  readonly audited: readonly string[];
  /** The object after mutation. */
  readonly object: Json | undefined;
}

/** `differences` returns one line per difference. */
export function differences(expected: Expectation, actual: Actual): readonly string[] {
  const found: string[] = [];
  if (expected.allowed !== undefined && expected.allowed !== actual.allowed) {
    found.push(`allowed: expected ${expected.allowed}, got ${actual.allowed}${because(actual.denials)}`);
  }
  if (expected.message !== undefined) {
    const { message } = expected;
    const fits = actual.denials.length === 0 ? message === '' : actual.denials.some((each) => each.includes(message));
    if (!fits) found.push(`message: expected it to contain ${quote(message)}, got ${listed(actual.denials)}`);
  }
  if (expected.warnings !== undefined) found.push(...listDifference('warnings', expected.warnings, actual.warnings));
  if (expected.audited !== undefined) found.push(...listDifference('audited', expected.audited, actual.audited));
  if (expected.object !== undefined) found.push(...objectDifferences(expected.object, actual.object, 'object'));
  return found;
}

const because = (messages: readonly string[]): string => (messages.length === 0 ? '' : `: ${messages.join('; ')}`);

/** Matches parts with texts in any order: each text must contain its own part, and each part must have a text. */
function listDifference(name: string, parts: readonly string[], texts: readonly string[]): readonly string[] {
  const takenBy = new Map<number, number>();
  const place = (part: number, tried: Set<number>): boolean =>
    texts.some((text, index) => {
      if (tried.has(index) || !text.includes(parts[part] as string)) return false;
      tried.add(index);
      const holder = takenBy.get(index);
      if (holder !== undefined && !place(holder, tried)) return false;
      takenBy.set(index, part);
      return true;
    });
  const missing = parts.filter((_, part) => !place(part, new Set()));
  const unexpected = texts.filter((_, index) => !takenBy.has(index));
  return [
    ...(missing.length === 0 ? [] : [`${name}: expected ${listed(missing)}, got ${listed(texts)}`]),
    ...(unexpected.length === 0 || missing.length > 0 ? [] : [`${name}: did not expect ${listed(unexpected)}`]),
  ];
}

/** Compares every expected field; the actual object may have more fields. Lists are compared element by element. */
function objectDifferences(expected: unknown, actual: unknown, path: string): readonly string[] {
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual)) return [`${path}: expected a list, got ${shown(actual)}`];
    const differing = expected.flatMap((each, index) => objectDifferences(each, actual[index], `${path}[${index}]`));
    if (actual.length <= expected.length) return differing;
    return [...differing, `${path}: expected ${expected.length} elements, got ${actual.length}`];
  }
  if (isObject(expected)) {
    if (!isObject(actual)) return [`${path}: expected an object, got ${shown(actual)}`];
    return Object.entries(expected).flatMap(([name, value]) =>
      objectDifferences(value, Object.hasOwn(actual, name) ? actual[name] : undefined, `${path}.${name}`),
    );
  }
  return expected === actual ? [] : [`${path}: expected ${shown(expected)}, got ${shown(actual)}`];
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const quote = (text: string): string => JSON.stringify(text);
const listed = (texts: readonly string[]): string => (texts.length === 0 ? 'none' : texts.map(quote).join(', '));

const MAX_SHOWN = 200;

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each));
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}
