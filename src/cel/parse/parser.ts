/**
 * A recursive descent parser for the grammar of CEL, which also expands macros. It reports a syntax error and
 * continues, so that one run finds several.
 */
import type { Expr, MapEntry, StructField } from '../ast.ts';
import type { Macro } from '../declarations.ts';
import { type Issue, Source } from '../source.ts';
import { Builder } from './builder.ts';
import { Heights } from './heights.ts';
import { STOP, SyntaxIssues } from './issues.ts';
import type { TokenKind } from './lexer.ts';
import { LiteralError, literalValue } from './literal.ts';
import { expandMacro } from './macros.ts';
import { Tokens } from './tokens.ts';

export interface ParseOptions {
  readonly macros: ReadonlyMap<string, readonly Macro[]>;
  /** Whether `.?`, `[?` and `{?k: v}` are accepted; true by default. */
  readonly optionalSyntax?: boolean;
  /** Whether field names in backticks are accepted; Kubernetes does not enable them. */
  readonly escapedFields?: boolean;
  /** The maximum size in code points; 100,000 by default as in cel-go. */
  readonly maxSize?: number;
  /** The maximum nesting of expressions and operators; 250 by default as in cel-go. */
  readonly maxDepth?: number;
}

export interface Parsed {
  readonly source: Source;
  /** The syntax tree; absent if there are issues. */
  readonly ast?: Expr;
  readonly issues: readonly Issue[];
}

/** `parse` turns the source of an expression into a syntax tree, with macros expanded, or into its syntax errors. */
export function parse(text: string, options: ParseOptions): Parsed {
  const source = new Source(text);
  const maxSize = options.maxSize ?? 100_000;
  if (text.length > maxSize && [...text].length > maxSize) {
    const message = `expression code point size exceeds limit: size: ${[...text].length}, limit ${maxSize}`;
    return { source, issues: [{ ...source.issue('too_large', 0, message), line: 1, column: 1 }] };
  }
  const parser = new Parser(source, options);
  const ast = parser.run();
  return parser.issues.length > 0 || ast === undefined
    ? { source, issues: parser.issues }
    : { source, ast, issues: [] };
}

const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
);

const RELATIONS: ReadonlySet<TokenKind> = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);

class Parser {
  readonly #source: Source;
  readonly #options: ParseOptions;
  readonly #issues: SyntaxIssues;
  readonly #tokens: Tokens;
  readonly #builder: Builder;
  readonly #maxDepth: number;
  #depth = 0;
  readonly #heights = new Heights();

  constructor(source: Source, options: ParseOptions) {
    this.#source = source;
    this.#options = options;
    this.#maxDepth = options.maxDepth ?? 250;
    this.#issues = new SyntaxIssues(source);
    const report = (offset: number, message: string) => this.#issues.report('syntax', offset, message);
    this.#tokens = new Tokens(source, report);
    this.#builder = new Builder(report);
  }

  get issues(): readonly Issue[] {
    return this.#issues.found;
  }

  run(): Expr | undefined {
    try {
      this.#tokens.next();
      const ast = this.#expression();
      while (this.#tokens.kind !== 'end') {
        this.#tokens.unexpected('end of expression');
        this.#tokens.next();
        // The rest is parsed only to report further errors.
        if (!this.#tokens.closes()) this.#expression();
      }
      return ast;
    } catch (thrown) {
      if (thrown === STOP) return undefined;
      throw thrown;
    }
  }

  #expression(): Expr {
    if (++this.#depth > this.#maxDepth) this.#tooDeep();
    const condition = this.#or();
    let result = condition;
    if (this.#tokens.kind === '?') {
      const offset = this.#tokens.take();
      const truthy = this.#or();
      this.#tokens.expect(':');
      const falsy = this.#expression();
      result = this.#counted(
        this.#builder.call('_?_:_', [condition, truthy, falsy], offset, condition.start, falsy.end),
      );
    }
    this.#depth--;
    return result;
  }

  #or(): Expr {
    return this.#logical('||', '_||_', () => this.#logical('&&', '_&&_', () => this.#relation()));
  }

  #logical(token: TokenKind, name: string, operand: () => Expr): Expr {
    const first = operand();
    if (this.#tokens.kind !== token) return first;
    const terms = [first];
    const offsets: number[] = [];
    while (this.#tokens.kind === token) {
      offsets.push(this.#tokens.take());
      terms.push(operand());
    }
    return this.#balance(name, terms, offsets, 0, offsets.length - 1);
  }

  /** Balances a chain of && or || into a shallow tree, in the shape of cel-go. `low` and `high` count operators. */
  #balance(name: string, terms: Expr[], offsets: number[], low: number, high: number): Expr {
    const middle = (low + high + 1) >> 1;
    const left = middle === low ? (terms[middle] as Expr) : this.#balance(name, terms, offsets, low, middle - 1);
    const right = middle === high ? (terms[middle + 1] as Expr) : this.#balance(name, terms, offsets, middle + 1, high);
    return this.#inherit(this.#builder.call(name, [left, right], offsets[middle] as number, left.start, right.end));
  }

  #relation(): Expr {
    let left = this.#sum();
    while (RELATIONS.has(this.#tokens.kind)) {
      const name = this.#tokens.kind === 'in' ? '@in' : `_${this.#tokens.kind}_`;
      const offset = this.#tokens.take();
      left = this.#binary(name, left, this.#sum(), offset);
    }
    return left;
  }

  #sum(): Expr {
    let left = this.#product();
    while (this.#tokens.kind === '+' || this.#tokens.kind === '-') {
      const name = `_${this.#tokens.kind}_`;
      const offset = this.#tokens.take();
      left = this.#binary(name, left, this.#product(), offset);
    }
    return left;
  }

  #product(): Expr {
    let left = this.#unary();
    while (this.#tokens.kind === '*' || this.#tokens.kind === '/' || this.#tokens.kind === '%') {
      const name = `_${this.#tokens.kind}_`;
      const offset = this.#tokens.take();
      left = this.#binary(name, left, this.#unary(), offset);
    }
    return left;
  }

  #binary(name: string, left: Expr, right: Expr, offset: number): Expr {
    return this.#counted(this.#builder.call(name, [left, right], offset, left.start, right.end));
  }

  /** Parses unary operators. An even number of signs cancels out, as in cel-go; -1 is a literal. */
  #unary(): Expr {
    const kind = this.#tokens.kind;
    if (kind !== '!' && (kind !== '-' || this.#tokens.numberFollows())) return this.#member();
    const offset = this.#tokens.start;
    let count = 0;
    while (this.#tokens.kind === kind) {
      this.#tokens.next();
      count++;
    }
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    const call = this.#builder.call(kind === '!' ? '!_' : '-_', [operand], offset, offset, operand.end);
    return this.#inherit(call);
  }

  #member(): Expr {
    const start = this.#tokens.start;
    let node = this.#primary();
    // `a.b.c{…}` names a type, which is known only at the brace. An escaped name is never part of it.
    let typeName = node.kind === 'identifier' && this.#source.text[start] !== '(' ? node.name : undefined;
    for (;;) {
      switch (this.#tokens.kind) {
        case '.':
          node = this.#selection(node, start);
          if (typeName !== undefined) {
            const isEscaped = this.#source.text[node.end - 1] === '`';
            typeName = node.kind === 'select' && !node.test && !isEscaped ? `${typeName}.${node.field}` : undefined;
          }
          break;
        case '[':
          node = this.#index(node, start);
          typeName = undefined;
          break;
        case '{':
          if (typeName === undefined) return node;
          node = this.#struct(typeName, start);
          typeName = undefined;
          break;
        default:
          return node;
      }
    }
  }

  #selection(operand: Expr, start: number): Expr {
    const dot = this.#tokens.take();
    const optional = this.#tokens.kind === '?';
    if (optional) {
      this.#tokens.next();
      if (this.#options.optionalSyntax === false) this.#issues.report('unsupported', dot, "unsupported syntax '.?'");
    }
    const at = this.#tokens.start;
    const escaped = this.#tokens.kind === 'escaped';
    const name = this.#fieldName();
    if (name === undefined) return operand;
    const end = this.#tokens.previousEnd;
    if (this.#tokens.kind === '(' && !optional && !escaped) return this.#call(name, operand, start);
    if (!optional) return this.#counted(this.#builder.select(operand, name, false, dot, start, end));
    const field = this.#builder.literalAt(name, at, end);
    return this.#counted(this.#builder.call('_?._', [operand, field], dot, start, end));
  }

  #index(operand: Expr, start: number): Expr {
    const bracket = this.#tokens.take();
    const optional = this.#optionalMark(bracket, "unsupported syntax '[?'");
    const index = this.#expression();
    this.#tokens.expect(']');
    const name = optional ? '_[?_]' : '_[_]';
    return this.#counted(this.#builder.call(name, [operand, index], bracket, start, this.#tokens.previousEnd));
  }

  #call(name: string, target: Expr | undefined, start: number): Expr {
    const offset = this.#tokens.take();
    const args: Expr[] = [];
    if (this.#tokens.kind !== ')') {
      do args.push(this.#expression());
      while (this.#tokens.accept(','));
    }
    this.#tokens.expect(')');
    const call = this.#builder.call(name, args, offset, start, this.#tokens.previousEnd, target);
    const expanded = expandMacro(call, this.#options.macros, this.#builder);
    return target === undefined ? this.#inherit(expanded, call) : this.#counted(expanded, call);
  }

  #primary(): Expr {
    const tokens = this.#tokens;
    const start = tokens.start;
    switch (tokens.kind) {
      case 'identifier':
        return this.#name('', start);
      case '.':
        tokens.next();
        return this.#name('.', start);
      case '(': {
        tokens.next();
        const inner = this.#expression();
        this.#tokens.expect(')');
        return inner;
      }
      case '[':
        return this.#list();
      case '{':
        return this.#map();
      default:
        return this.#literal();
    }
  }

  #name(prefix: string, start: number): Expr {
    const { kind, text } = this.#tokens;
    if (kind !== 'identifier') return this.#missing('an identifier');
    if (RESERVED.has(text)) this.#issues.report('syntax', start, `reserved identifier: ${text}`);
    this.#tokens.next();
    if (this.#tokens.kind === '(') return this.#call(prefix + text, undefined, start);
    return this.#builder.identifierAt(prefix + text, start, this.#tokens.previousEnd);
  }

  #list(): Expr {
    const start = this.#tokens.take();
    const elements: Expr[] = [];
    const optional: number[] = [];
    while (this.#tokens.kind !== ']') {
      if (this.#optionalMark(this.#tokens.start, "unsupported syntax '?'")) optional.push(elements.length);
      elements.push(this.#expression());
      if (!this.#tokens.accept(',')) break;
    }
    this.#tokens.expect(']');
    return this.#inherit(this.#builder.listAt(elements, optional, start, this.#tokens.previousEnd));
  }

  #map(): Expr {
    const start = this.#tokens.take();
    const entries: MapEntry[] = [];
    while (this.#tokens.kind !== '}') {
      const optional = this.#optionalMark(this.#tokens.start, "unsupported syntax '?'");
      const key = this.#expression();
      this.#tokens.expect(':');
      const value = this.#expression();
      entries.push(this.#builder.entry(key, value, optional));
      if (!this.#tokens.accept(',')) break;
    }
    this.#tokens.expect('}');
    return this.#inherit(this.#builder.mapAt(entries, start, this.#tokens.previousEnd));
  }

  #struct(typeName: string, start: number): Expr {
    const offset = this.#tokens.take();
    const fields: StructField[] = [];
    while (this.#tokens.kind !== '}') {
      const optional = this.#optionalMark(this.#tokens.start, "unsupported syntax '?'");
      const at = this.#tokens.start;
      const name = this.#fieldName();
      if (name === undefined) break;
      this.#tokens.expect(':');
      fields.push(this.#builder.field(name, this.#expression(), optional, at));
      if (!this.#tokens.accept(',')) break;
    }
    this.#tokens.expect('}');
    return this.#inherit(this.#builder.struct(typeName, fields, offset, start, this.#tokens.previousEnd));
  }

  #literal(): Expr {
    const tokens = this.#tokens;
    const start = tokens.start;
    const negative = tokens.kind === '-' && tokens.numberFollows();
    if (negative) tokens.next();
    const value = literalValue(tokens.kind, tokens.text, negative);
    if (value === undefined) return this.#missing('an expression');
    tokens.next();
    if (value instanceof LiteralError) {
      this.#issues.report('syntax', start, value.message);
      return this.#builder.literalAt(null, start, tokens.previousEnd);
    }
    return this.#builder.literalAt(value, start, tokens.previousEnd);
  }

  #fieldName(): string | undefined {
    const tokens = this.#tokens;
    if (tokens.kind !== 'identifier' && tokens.kind !== 'escaped') {
      this.#tokens.unexpected('a field name');
      return undefined;
    }
    const escaped = tokens.kind === 'escaped';
    if (escaped && this.#options.escapedFields !== true) {
      this.#issues.report('unsupported', tokens.start, "unsupported syntax: '`'");
    }
    const name = escaped ? tokens.text.slice(1, -1) : tokens.text;
    tokens.next();
    return name;
  }

  #optionalMark(offset: number, message: string): boolean {
    if (!this.#tokens.accept('?')) return false;
    if (this.#options.optionalSyntax === false) this.#issues.report('unsupported', offset, message);
    return true;
  }

  /** Reports the actual token in place of `expected`, and returns a placeholder node. */
  #missing(expected: string): Expr {
    const start = this.#tokens.start;
    this.#tokens.unexpected(expected);
    return this.#builder.literalAt(null, start, this.#tokens.previousEnd);
  }

  // ---- depth ---------------------------------------------------------------------------------------------------

  #counted<T extends Expr>(node: T, parts: Expr = node): T {
    if (this.#heights.add(node, parts, 1) > this.#maxDepth) this.#tooDeep();
    return node;
  }

  #inherit<T extends Expr>(node: T, parts: Expr = node): T {
    this.#heights.add(node, parts, 0);
    return node;
  }

  #tooDeep(): never {
    const message = `expression recursion limit exceeded: ${this.#maxDepth}`;
    this.#issues.giveUp('too_deep', this.#tokens.start, message);
  }
}
