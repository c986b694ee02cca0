/** One YAML document of a file: its value, and the positions of its fields. Positions cost a full parse, so they are computed on demand. */
import { type Document, isMap, isPair, isScalar, isSeq, LineCounter, type Node, type Pair, type ScalarTag } from 'yaml';
import { faultIn, parseDocuments, TooDeep } from '../../runtime/internal.ts';
import { type FieldPath, parseFieldPath } from './field-path.ts';
import { readQuickly, unusual } from './quick.ts';
import { indentedQuotes } from './quotes.ts';
import { notJson, plainScalar } from './scalar.ts';

/** From 1, as editors count. */
export interface Place {
  readonly line: number;
  readonly column: number;
}

/** Something in the input that cannot be judged. */
export interface Problem {
  /** Stable, for programs. */
  readonly code: string;
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  /** What is wrong and what to do. */
  readonly message: string;
}

export class SourceDocument {
  readonly file: string;
  /** Of the document alone, from its `---` on. */
  readonly text: string;
  readonly #before: () => number;
  /** Many rules point at one field. */
  readonly #places = new Map<string, Place>();
  #start: Place | undefined;
  #lines: readonly string[] | undefined;
  #parsed: Parsed | undefined;

  /** `before` returns the number of lines of the file before the document. */
  constructor(file: string, text: string, before: () => number) {
    this.file = file;
    this.text = text;
    this.#before = before;
  }

  /** The template that Helm says it has made this from. */
  get source(): string | undefined {
    return SOURCE_COMMENT.exec(this.text)?.[1]?.trim();
  }

  /** What the document says (undefined: nothing), or what is wrong with it. */
  read(): { value: unknown } | { problem: Problem } {
    const value = readQuickly(this.text);
    return value === unusual ? this.#readFully() : { value: value ?? undefined };
  }

  /** A line of the file, where it is one of the document's. */
  lineAt(line: number): string | undefined {
    this.#lines ??= this.text.split('\n');
    return this.#lines[line - 1 - this.#before()];
  }

  /** Where the document's content begins. */
  start(): Place {
    this.#start ??= this.#findStart();
    return this.#start;
  }

  #findStart(): Place {
    const skipped = BEFORE_CONTENT.exec(this.text)?.[0] ?? '';
    const line = skipped.split('\n').length;
    return { line: this.#before() + line, column: skipped.length - skipped.lastIndexOf('\n') };
  }

  /** Where a field stands; where there is none, the nearest thing around it that is there. `within` leads to the object, as in a List. */
  place(field: string, within: FieldPath = []): Place {
    const key = JSON.stringify([field, within]);
    const known = this.#places.get(key) ?? this.#find(field, within);
    this.#places.set(key, known);
    return known;
  }

  #find(field: string, within: FieldPath): Place {
    const { document, lines } = this.#parse();
    const found = nearest(document?.contents, [...within, ...parseFieldPath(field)]);
    if (found === undefined) return this.start();
    const { line, col } = lines.linePos(found);
    return { line: this.#before() + line, column: col };
  }

  /** The position of a line and column inside a text field; the position of the field if its text is folded or has escapes. */
  placeInText(field: string, within: Place, path: FieldPath = []): Place {
    const { document, lines, text } = this.#parse();
    const found = valueAt(document?.contents, [...path, ...parseFieldPath(field)]);
    const start = isScalar(found) ? found.range?.[0] : undefined;
    if (!isScalar(found) || start === undefined || typeof found.value !== 'string') return this.place(field, path);
    const { line, col } = lines.linePos(start);
    if (found.type === 'BLOCK_LITERAL') {
      const margin = /\n( *)\S/.exec(text.slice(start))?.[1]?.length ?? 0;
      return { line: this.#before() + line + within.line, column: margin + within.column };
    }
    const quote = found.type === 'PLAIN' ? 0 : 1;
    const asWritten = text.startsWith(found.value, start + quote);
    if (!asWritten || within.line > 1) return this.place(field, path);
    return { line: this.#before() + line, column: col + quote + within.column - 1 };
  }

  #readFully(): { value: unknown } | { problem: Problem } {
    const { document, lines, tooDeep } = this.#parse();
    const at = (offset: number) => {
      const { line, col } = lines.linePos(offset);
      return { line: this.#before() + line, column: col };
    };
    if (tooDeep !== undefined) return { problem: this.#wrong(tooDeep.message, at(tooDeep.offset)) };
    if (document === undefined) return { value: undefined };
    const [error] = document.errors;
    if (error !== undefined) return { problem: this.#wrong(firstLine(error.message), at(error.pos[0])) };
    try {
      const fault = faultIn(document);
      if (fault !== undefined) return { problem: this.#wrong(fault.message, at(fault.offset)) };
      // Aliases are resolved here: one that leads nowhere, or far too many of them, is the document's fault.
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      return { value: value ?? undefined };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { problem: this.#wrong(message, this.start()) };
    }
  }

  #wrong(message: string, place: Place): Problem {
    return {
      code: 'yaml',
      file: this.file,
      ...place,
      message: `${message.replace(/[.:]?$/, '.')} Correct the YAML there.`,
    };
  }

  #parse(): Parsed {
    this.#parsed ??= parsed(this.text);
    return this.#parsed;
  }
}

interface Parsed {
  /** What was parsed: the document's own text, but for what `indentedQuotes` has moved. */
  readonly text: string;
  readonly document: Document | undefined;
  readonly lines: LineCounter;
  /** Why there is no document. */
  readonly tooDeep?: TooDeep;
}

function parsed(text: string): Parsed {
  const lines = new LineCounter();
  let document: Document | undefined;
  try {
    [document] = parseDocuments(text, { ...asKubernetes, lineCounter: lines });
  } catch (error) {
    if (error instanceof TooDeep) return { text, document: undefined, lines, tooDeep: error };
    throw error;
  }
  const [error] = document?.errors ?? [];
  const moved = error?.code === 'MISSING_CHAR' ? indentedQuotes(text) : text;
  if (moved === text) return { text, document, lines };
  const again = parsed(moved);
  return again.document?.errors.length === 0 ? again : { text, document, lines };
}

const SOURCE_COMMENT = /^(?:---[^\n]*\n)?(?:[ \t]*\n)*# Source: ([^\n]+)/;
const BEFORE_CONTENT = /^(?:---(?=[ \n]))?(?:[ \t\r\n]+|#[^\n]*)*/;

const kubernetesScalar: ScalarTag = {
  tag: 'tag:platform.company.com,2026:plain',
  default: true,
  test: /^(?:[-+.0-9~]|[yYnNtTfFoO][a-zA-Z]{0,4}$|$)/,
  resolve(text, onError) {
    const value = plainScalar(text);
    if (value !== notJson) return value;
    onError(`${text} is a number that JSON cannot represent`);
    return null;
  },
};

/** The words of `plainScalar`, and merge keys. That nothing comes twice is for `faultIn`: here it would take time by the square of the keys. */
const asKubernetes = {
  merge: true,
  uniqueKeys: false,
  prettyErrors: false,
  customTags: (tags: readonly unknown[]) => [kubernetesScalar, ...(tags as ScalarTag[])],
} as const;

/** The offset at which the deepest part of the path that exists begins: of a field its name, of an item the item. */
function nearest(root: unknown, path: FieldPath): number | undefined {
  let node = root;
  let found = offsetOf(root);
  for (let depth = 0; depth < path.length; ) {
    const step = stepInto(node, path, depth);
    if (step === undefined) break;
    node = step.node;
    found = step.offset ?? found;
    depth += step.taken;
  }
  return found;
}

/** What is at the path, if all of it is there. */
function valueAt(root: unknown, path: FieldPath): unknown {
  let node = root;
  for (let depth = 0; depth < path.length; ) {
    const step = stepInto(node, path, depth);
    if (step === undefined) return undefined;
    node = step.node;
    depth += step.taken;
  }
  return node;
}

interface Step {
  readonly node: unknown;
  readonly offset: number | undefined;
  readonly taken: number;
}

function stepInto(node: unknown, path: FieldPath, depth: number): Step | undefined {
  const step = path[depth];
  if (isSeq(node)) {
    const item = typeof step === 'number' ? node.items[step] : undefined;
    return item === undefined ? undefined : { node: item, offset: offsetOf(item), taken: 1 };
  }
  if (!isMap(node)) return undefined;
  // A key may contain dots that the path does not quote: the longest existing key wins.
  for (let taken = path.length - depth; taken > 0; taken--) {
    const key = path.slice(depth, depth + taken).join('.');
    const pair = node.items.find((each) => isPair(each) && keyText(each) === key);
    if (pair !== undefined) return { node: pair.value, offset: offsetOf(pair.key), taken };
  }
  return undefined;
}

const keyText = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '');
const offsetOf = (node: unknown): number | undefined => (node as Node | null | undefined)?.range?.[0];
const firstLine = (text: string): string => text.split('\n')[0] ?? '';
