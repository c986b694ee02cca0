/**
 * The full parser of YAML, stopped where a document is nested beyond any use. A parser goes down a level by calling itself, and keeps each
 * level that is open: three megabytes of brackets would take gigabytes before they turn out to be wrong.
 */
import {
  Composer,
  type Document,
  type DocumentOptions,
  LineCounter,
  type ParsedNode,
  type ParseOptions,
  Parser,
  type SchemaOptions,
} from 'yaml';
import { faultIn } from './faults.ts';

/** Definitions have some tens. Far fewer than the levels that run out of stack, which depends on who calls. */
export const MOST_LEVELS = 500;

export class TooDeep extends Error {
  /** Of what is one level too many. */
  readonly offset: number;

  constructor(offset: number) {
    super(`Nested too deeply: more than ${MOST_LEVELS} levels`);
    this.name = 'TooDeep';
    this.offset = offset;
  }
}

type ParsingOptions = ParseOptions & DocumentOptions & SchemaOptions;

/** What `parseAllDocuments` of yaml answers; throws `TooDeep`. No warning is printed: it would quote the text, which may be secret. */
export function parseDocuments(text: string, options: ParsingOptions = {}): Document.Parsed<ParsedNode>[] {
  const { lineCounter = new LineCounter() } = options;
  const { stackTraceLimit } = Error;
  // The parser makes an error of each thing that is wrong, and there may be millions: where it stood itself then is most of their cost.
  Error.stackTraceLimit = 0;
  try {
    return [
      ...new Composer({ logLevel: 'error', ...options }).compose(new LevelParser(lineCounter.addNewLine).parse(text)),
    ] as Document.Parsed[];
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

class LevelParser extends Parser {
  override *next(lexeme: string): ReturnType<Parser['next']> {
    const { offset } = this;
    yield* super.next(lexeme);
    // One of them is the document itself.
    if (this.stack.length > MOST_LEVELS + 1) throw new TooDeep(offset);
  }
}

/** What the only document says. Throws what is wrong with it. */
export function parseYaml(
  text: string,
  { maxAliasCount = 100, ...options }: ParsingOptions & { readonly maxAliasCount?: number } = {},
): unknown {
  // That no key comes twice is for `faultIn`: here it would take time by the square of the keys.
  const [document, ...more] = parseDocuments(text, { ...options, uniqueKeys: false });
  if (document === undefined) return undefined;
  const [error] = document.errors;
  if (error !== undefined) throw error;
  if (more.length > 0) throw new Error('want a single document, found several.');
  const fault = faultIn(document);
  if (fault !== undefined) throw new Error(fault.message);
  return document.toJS({ maxAliasCount });
}
