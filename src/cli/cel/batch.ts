/**
 * `kidp cel eval --batch` reads JSON lines and writes one result line for each, in order. Lines that arrive together are
 * answered together; no more input is read until the output has been consumed.
 */
import {
  type Compiled,
  DecodeError,
  decodeJson,
  isMap,
  type JsonMap,
  type Rejected,
  type Value,
} from '../../cel/index.ts';
import { answer, type Problem, problems } from './answers.ts';
import { hand } from './output.ts';
import type { CelStreams, Session } from './session.ts';

export async function batch(session: Session, streams: Pick<CelStreams, 'in' | 'out'>): Promise<void> {
  const expressions = new CompiledExpressions();
  let number = 0;
  for await (const lines of lineGroups(streams.in)) {
    const answers = lines.map((line) => `${answerLine(line, ++number, session, expressions)}\n`);
    if (!(await hand(streams.out, answers.join('')))) return;
  }
}

/** `lineGroups` yields the lines that each chunk completes. Only a line feed ends a line: JSON may contain other separators. */
async function* lineGroups(input: NodeJS.ReadableStream): AsyncIterable<readonly string[]> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    pieces.push(lines[0] as string);
    if (lines.length === 1) continue;
    lines[0] = pieces.join('');
    pieces = [lines.pop() as string];
    yield lines;
  }
  const rest = pieces.join('') + decoder.decode();
  if (rest !== '') yield [rest];
}

function answerLine(line: string, number: number, session: Session, expressions: CompiledExpressions): string {
  const decoded = decodeLine(line, number);
  if ('error' in decoded) return JSON.stringify(decoded);
  const { expr, variables } = decoded;
  const bound = session.with(variables);
  const compiled = expressions.compile(expr, bound);
  if (compiled.evaluate === undefined) return JSON.stringify({ error: problems(compiled)[0] });
  return answer(compiled.source, compiled.evaluate(bound.values()));
}

type Decoded = { readonly expr: string; readonly variables: JsonMap } | { readonly error: Problem };

/** `decodeLine` decodes an input line. An error in the line itself has a position in the input, not in an expression. */
function decodeLine(line: string, number: number): Decoded {
  const wrong = (code: string, message: string, offset = 0): Decoded => ({
    error: {
      code: `input/${code}`,
      message: `line ${number} of the input: ${message}`,
      line: number,
      column: offset + 1,
    },
  });
  let value: Value;
  try {
    value = decodeJson(line);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return wrong('json', `${error.message}; want one JSON object per line`, error.offset);
  }
  if (!isMap(value)) return wrong('json', 'this is not a JSON object');
  const { expr, ...variables } = value as JsonMap;
  if (typeof expr !== 'string') return wrong('expression', 'the string field "expr" with the expression is required');
  return { expr, variables };
}

const MAX_EXPRESSIONS = 1000;

/** `CompiledExpressions` caches compiled expressions and evicts the oldest first. */
class CompiledExpressions {
  readonly #known = new Map<string, Compiled | Rejected>();

  compile(expression: string, session: Session): Compiled | Rejected {
    const key = JSON.stringify([expression, ...session.names.toSorted()]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const compiled = session.compile(expression);
    if (this.#known.size >= MAX_EXPRESSIONS) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(key, compiled);
    return compiled;
  }
}
