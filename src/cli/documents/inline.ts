/** What stands within a line of YAML and is no plain word: words in quotes, collections in brackets, and keys that are in quotes. */
import { notJson, plainScalar } from './scalar.ts';

/** Not read here, nor in `quick.ts`: for a full parser. */
export const unusual: unique symbol = Symbol('for a full parser');

export type Fields = Record<string, unknown>;

export const MAX_DEPTH = 100;

/** Where what was read last ends. */
export let end = 0;

const DOUBLE_QUOTED = /"(?:[^"\\\n]|\\["\\/bfnrt_]|\\u[0-9a-fA-F]{4})*"/y;
const SINGLE_QUOTED = /'((?:[^'\n]|'')*)'/y;
/** A word inside a flow collection: no indicator in it but a colon that something follows. */
const FLOW_WORD = /(?:[A-Za-z0-9_./+~]|-(?=[A-Za-z0-9_./]))(?:[^,[\]{}:#"'&*!|>%@`?\n]|:(?=[^\s,[\]{}]))*/y;
const FLOW_KEY = /(?:([A-Za-z0-9_./-]+) *:(?=[ \n])|"([^"\\\n]*)"[ \n]*:|'([^'\n]*)' *:(?=[ \n]))/y;

export function quotedAt(text: string, at: number): string {
  if (text[at] === '"') {
    const quoted = taken(DOUBLE_QUOTED, text, at);
    return quoted.includes('\\') ? unescaped(quoted) : quoted.slice(1, -1);
  }
  return taken(SINGLE_QUOTED, text, at).slice(1, -1).replaceAll("''", "'");
}

/** The escapes of JSON, and the one of YAML that definitions have: a space that does not break. */
const unescaped = (quoted: string): string =>
  JSON.parse(quoted.replaceAll(/\\[^u]/g, (each) => (each === '\\_' ? '\\u00a0' : each))) as string;

/** The key that the pattern finds, if any; what its groups find is a plain word, or what is in quotes. */
export function keyAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  const match = pattern.exec(text);
  if (match === null) return undefined;
  end = pattern.lastIndex;
  const key = match[1] ?? match[2] ?? match[3] ?? '';
  // A word that means a number or a truth is a key of another name; the rest are not safe as names of fields.
  if (key === '__proto__' || (match[1] !== undefined && (plainScalar(key) !== key || /^-(?![A-Za-z])/.test(key)))) {
    throw unusual;
  }
  return key;
}

/** A plain word, which may be a number or a truth. */
export function wordValue(word: string): unknown {
  const value = plainScalar(word);
  if (value === notJson) throw unusual;
  return value;
}

/** A collection in brackets; over several lines only where nothing is around it, because otherwise indentation counts. */
export function flowAt(text: string, at: number, overLines: boolean, depth: number): unknown {
  if (depth > MAX_DEPTH) throw unusual;
  const start = afterSpace(text, at + 1, overLines);
  return text[at] === '{' ? flowMap(text, start, overLines, depth) : flowList(text, start, overLines, depth);
}

function flowMap(text: string, start: number, overLines: boolean, depth: number): Fields {
  const made: Fields = {};
  if (isAt('}', text, start)) return made;
  end = start;
  do {
    const key = keyAt(FLOW_KEY, text, afterSpace(text, end, overLines));
    if (key === undefined || Object.hasOwn(made, key)) throw unusual;
    made[key] = flowValue(text, overLines, depth);
  } while (isAt(',', text, end));
  if (!isAt('}', text, end)) throw unusual;
  return made;
}

function flowList(text: string, start: number, overLines: boolean, depth: number): unknown[] {
  const made: unknown[] = [];
  if (isAt(']', text, start)) return made;
  end = start;
  do made.push(flowValue(text, overLines, depth));
  while (isAt(',', text, end));
  if (!isAt(']', text, end)) throw unusual;
  return made;
}

/** With the space around it. */
function flowValue(text: string, overLines: boolean, depth: number): unknown {
  const at = afterSpace(text, end, overLines);
  const value = flowValueAt(text, at, overLines, depth);
  end = afterSpace(text, end, overLines);
  return value;
}

function flowValueAt(text: string, at: number, overLines: boolean, depth: number): unknown {
  const first = text[at];
  if (first === '{' || first === '[') return flowAt(text, at, overLines, depth + 1);
  if (first === '"' || first === "'") return quotedAt(text, at);
  const word = taken(FLOW_WORD, text, at);
  // The same rule as for plain words: a comment may follow a space.
  if (text[end] === '#') throw unusual;
  return wordValue(word.trimEnd());
}

function afterSpace(text: string, from: number, overLines: boolean): number {
  let at = from;
  while (text[at] === ' ' || (overLines && text[at] === '\n')) at++;
  return at;
}

/** The character is passed where it is there. */
function isAt(character: string, text: string, at: number): boolean {
  if (text[at] !== character) return false;
  end = at + 1;
  return true;
}

function taken(pattern: RegExp, text: string, at: number): string {
  pattern.lastIndex = at;
  if (!pattern.test(text)) throw unusual;
  end = pattern.lastIndex;
  return text.slice(at, end);
}
