/**
 * JSON that means the same to every reader. `JSON.parse` takes the last of two fields of one name where another parser takes the
 * first, so that what one program has checked is not what the next one acts on: here a field that is there twice is an error, and
 * so are names that reach for a prototype, and nesting that only serves to exhaust a stack.
 */

type Parsed = { readonly value: unknown } | { readonly problem: string };

/** Deeper than any spec of ours, and far from what recursion cannot bear. */
export const DEEPEST = 64;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Never throws. */
export function parseStrictly(input: Uint8Array | string): Parsed {
  let text: string;
  let value: unknown;
  try {
    text = typeof input === 'string' ? input : utf8.decode(input);
  } catch {
    return { problem: 'it is not UTF-8' };
  }
  try {
    value = JSON.parse(text);
  } catch {
    // Node's message repeats what was sent: not for a log.
    return { problem: 'it is not JSON' };
  }
  const problem = ambiguityIn(text);
  return problem === undefined ? { value } : { problem };
}

interface Level {
  /** Undefined in a list. */
  readonly names: Set<string> | undefined;
  /** The field that holds it. */
  readonly within: string | undefined;
}

/** Of text that is known to be JSON: one pass, without building anything but the names. */
function ambiguityIn(text: string): string | undefined {
  const levels: Level[] = [];
  let name: string | undefined;
  let expectsName = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: {
        const end = endOfString(text, at);
        if (expectsName) {
          expectsName = false;
          name = JSON.parse(text.slice(at, end + 1)) as string;
          const level = levels.at(-1);
          if (level?.names?.has(name) === true) return `the field ${quoted(name)} is there twice`;
          if (reachesForPrototype(name, level?.within)) return `a field must not be called ${quoted(name)} here`;
          level?.names?.add(name);
        }
        at = end;
        break;
      }
      case 0x7b:
        levels.push({ names: new Set(), within: name });
        expectsName = true;
        break;
      case 0x5b:
        levels.push({ names: undefined, within: undefined });
        break;
      case 0x7d:
      case 0x5d:
        levels.pop();
        expectsName = false;
        break;
      case 0x2c:
        expectsName = levels.at(-1)?.names !== undefined;
        break;
      default:
    }
    if (levels.length > DEEPEST) return `it is nested deeper than ${DEEPEST} levels`;
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; text.charCodeAt(at) !== 0x22; at += 1) if (text.charCodeAt(at) === 0x5c) at += 1;
  return at;
}

const reachesForPrototype = (name: string, within: string | undefined): boolean =>
  name === '__proto__' || (name === 'prototype' && within === 'constructor');

const quoted = (name: string): string => JSON.stringify(name.slice(0, 64));

/** The same for a value that is there already: undefined where JSON could have said it, unambiguously. Never throws. */
export function problemOfValue(value: unknown): string | undefined {
  try {
    return problemAt(value, 0, undefined);
  } catch {
    return 'it cannot be read';
  }
}

function problemAt(value: unknown, depth: number, within: string | undefined): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'it holds a number that JSON has not';
  if (typeof value !== 'object') return `it holds a ${typeof value}, which JSON has not`;
  if (depth >= DEEPEST) return `it is nested deeper than ${DEEPEST} levels`;
  if (Array.isArray(value)) {
    for (const element of value) {
      const problem = problemAt(element, depth + 1, undefined);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return 'it holds an object that is not plain';
  for (const [name, field] of Object.entries(value)) {
    if (reachesForPrototype(name, within)) return `a field must not be called ${quoted(name)} here`;
    // A field that is undefined is not written: it is as good as absent.
    const problem = field === undefined ? undefined : problemAt(field, depth + 1, name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
