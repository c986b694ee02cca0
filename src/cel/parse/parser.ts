/**
 * Tokens → syntax tree, by recursive descent along the grammar of CEL. Macros are expanded on the way.
 * A syntax error is reported and stepped over, so that one run finds several.
 */
import type { Call, Expr, MapEntry, StructField } from '../ast.ts';
import type { Macro } from '../declarations.ts';
import { type Issue, type IssueCode, Source } from '../source.ts';
import { Builder } from './builder.ts';
import { Heights } from './heights.ts';
import { Lexer, type TokenKind } from './lexer.ts';
import { LiteralError, literalValue } from './literal.ts';

export interface ParseOptions {
  readonly macros: ReadonlyMap<string, readonly Macro[]>;
  /** `.?`, `[?`, `{?k: v}`; on unless false. */
  readonly optionalSyntax?: boolean;
  /** Fields in backticks; Kubernetes does not turn them on. */
  readonly escapedFields?: boolean;
  /** In code points; 100,000 as in cel-go. */
  readonly maxSize?: number;
  /** Nesting of expressions, and of the operators in one; 250 as in cel-go. */
  readonly maxDepth?: number;
}

export interface Parsed {
  readonly source: Source;
  /** Missing when there are issues. */
  readonly ast?: Expr;
  readonly issues: readonly Issue[];
}

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
const CLOSERS: ReadonlySet<TokenKind> = new Set([')', ']', '}', ',', ':', 'end']);
const MAX_ISSUES = 100;

/** Thrown to give up: too deep or too many errors. The reason is already among the issues. */
const STOP = Symbol('stop');

class Parser {
  readonly issues: Issue[] = [];
  readonly #source: Source;
  readonly #options: ParseOptions;
  readonly #lexer: Lexer;
  readonly #builder: Builder;
  readonly #maxDepth: number;
  #depth = 0;
  readonly #heights = new Heights();

  constructor(source: Source, options: ParseOptions) {
    this.#source = source;
    this.#options = options;
    this.#maxDepth = options.maxDepth ?? 250;
    this.#lexer = new Lexer(source, (offset, message) => this.#report('syntax', offset, message));
    this.#builder = new Builder((offset, message) => this.#report('syntax', offset, message));
  }

  run(): Expr | undefined {
    try {
      const ast = this.#expression();
      while (this.#lexer.kind !== 'end') {
        this.#unexpected('end of expression');
        this.#lexer.next();
        // What follows may hold more errors; it is read for those alone.
        if (!CLOSERS.has(this.#lexer.kind)) this.#expression();
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
    if (this.#lexer.kind === '?') {
      const offset = this.#take();
      const truthy = this.#or();
      this.#expect(':');
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
    if (this.#lexer.kind !== token) return first;
    const terms = [first];
    const offsets: number[] = [];
    while (this.#lexer.kind === token) {
      offsets.push(this.#take());
      terms.push(operand());
    }
    return this.#balance(name, terms, offsets, 0, offsets.length - 1);
  }

  /** A chain of && or || as a tree of small depth, in the shape cel-go gives it. `low` and `high` count operators. */
  #balance(name: string, terms: Expr[], offsets: number[], low: number, high: number): Expr {
    const middle = (low + high + 1) >> 1;
    const left = middle === low ? (terms[middle] as Expr) : this.#balance(name, terms, offsets, low, middle - 1);
    const right = middle === high ? (terms[middle + 1] as Expr) : this.#balance(name, terms, offsets, middle + 1, high);
    return this.#inherit(this.#builder.call(name, [left, right], offsets[middle] as number, left.start, right.end));
  }

  #relation(): Expr {
    let left = this.#sum();
    while (RELATIONS.has(this.#lexer.kind)) {
      const name = this.#lexer.kind === 'in' ? '@in' : `_${this.#lexer.kind}_`;
      const offset = this.#take();
      left = this.#binary(name, left, this.#sum(), offset);
    }
    return left;
  }

  #sum(): Expr {
    let left = this.#product();
    while (this.#lexer.kind === '+' || this.#lexer.kind === '-') {
      const name = `_${this.#lexer.kind}_`;
      const offset = this.#take();
      left = this.#binary(name, left, this.#product(), offset);
    }
    return left;
  }

  #product(): Expr {
    let left = this.#unary();
    while (this.#lexer.kind === '*' || this.#lexer.kind === '/' || this.#lexer.kind === '%') {
      const name = `_${this.#lexer.kind}_`;
      const offset = this.#take();
      left = this.#binary(name, left, this.#unary(), offset);
    }
    return left;
  }

  #binary(name: string, left: Expr, right: Expr, offset: number): Expr {
    return this.#counted(this.#builder.call(name, [left, right], offset, left.start, right.end));
  }

  /** An even number of signs cancels out, as in cel-go; -1 is a literal. */
  #unary(): Expr {
    const kind = this.#lexer.kind;
    if (kind !== '!' && (kind !== '-' || this.#lexer.numberFollows())) return this.#member();
    const offset = this.#lexer.start;
    let count = 0;
    while (this.#lexer.kind === kind) {
      this.#lexer.next();
      count++;
    }
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    const call = this.#builder.call(kind === '!' ? '!_' : '-_', [operand], offset, offset, operand.end);
    return this.#inherit(call);
  }

  #member(): Expr {
    const start = this.#lexer.start;
    let node = this.#primary();
    // `a.b.c{…}` names a type: known only when the brace comes.
    let typeName = node.kind === 'identifier' && this.#source.text[start] !== '(' ? node.name : undefined;
    for (;;) {
      switch (this.#lexer.kind) {
        case '.':
          node = this.#selection(node, start);
          if (typeName !== undefined) {
            typeName = node.kind === 'select' && !node.test ? `${typeName}.${node.field}` : undefined;
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
    const dot = this.#take();
    const optional = this.#lexer.kind === '?';
    if (optional) {
      this.#lexer.next();
      if (this.#options.optionalSyntax === false) this.#report('unsupported', dot, "unsupported syntax '.?'");
    }
    const at = this.#lexer.start;
    const escaped = this.#lexer.kind === 'escaped';
    const name = this.#fieldName();
    if (name === undefined) return operand;
    const end = this.#lexer.previousEnd;
    if (this.#lexer.kind === '(' && !optional && !escaped) return this.#call(name, operand, start);
    if (!optional) return this.#counted(this.#builder.select(operand, name, false, dot, start, end));
    const field = this.#builder.literalAt(name, at, end);
    return this.#counted(this.#builder.call('_?._', [operand, field], dot, start, end));
  }

  #index(operand: Expr, start: number): Expr {
    const bracket = this.#take();
    const optional = this.#optionalMark(bracket, "unsupported syntax '[?'");
    const index = this.#expression();
    this.#expect(']');
    const name = optional ? '_[?_]' : '_[_]';
    return this.#counted(this.#builder.call(name, [operand, index], bracket, start, this.#lexer.previousEnd));
  }

  #call(name: string, target: Expr | undefined, start: number): Expr {
    const offset = this.#take();
    const args: Expr[] = [];
    if (this.#lexer.kind !== ')') {
      do args.push(this.#expression());
      while (this.#accept(','));
    }
    this.#expect(')');
    const call = this.#builder.call(name, args, offset, start, this.#lexer.previousEnd, target);
    const expanded = this.#expand(call);
    return target === undefined ? this.#inherit(expanded, call) : this.#counted(expanded, call);
  }

  #expand(call: Call): Expr {
    const candidates = this.#options.macros.get(call.function);
    if (candidates === undefined) return call;
    for (const macro of candidates) {
      if (macro.member !== (call.target !== undefined)) continue;
      if (macro.arguments !== undefined && macro.arguments !== call.args.length) continue;
      const expanded = this.#builder.at(call, (builder) => macro.expand(builder, call.target, call.args, call));
      if (expanded !== undefined) return { ...expanded, macro: call };
    }
    return call;
  }

  #primary(): Expr {
    const lexer = this.#lexer;
    const start = lexer.start;
    switch (lexer.kind) {
      case 'identifier':
        return this.#name('', start);
      case '.':
        lexer.next();
        return this.#name('.', start);
      case '(': {
        lexer.next();
        const inner = this.#expression();
        this.#expect(')');
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
    if (this.#lexer.kind !== 'identifier') return this.#unexpected('an identifier');
    const text = this.#lexer.text;
    if (RESERVED.has(text)) this.#report('syntax', start, `reserved identifier: ${text}`);
    const next = this.#following();
    if (next === '(') return this.#call(prefix + text, undefined, start);
    return this.#builder.identifierAt(prefix + text, start, this.#lexer.previousEnd);
  }

  #list(): Expr {
    const start = this.#take();
    const elements: Expr[] = [];
    const optional: number[] = [];
    while (this.#lexer.kind !== ']') {
      if (this.#optionalMark(this.#lexer.start, "unsupported syntax '?'")) optional.push(elements.length);
      elements.push(this.#expression());
      if (!this.#accept(',')) break;
    }
    this.#expect(']');
    return this.#inherit(this.#builder.listAt(elements, optional, start, this.#lexer.previousEnd));
  }

  #map(): Expr {
    const start = this.#take();
    const entries: MapEntry[] = [];
    while (this.#lexer.kind !== '}') {
      const optional = this.#optionalMark(this.#lexer.start, "unsupported syntax '?'");
      const key = this.#expression();
      this.#expect(':');
      const value = this.#expression();
      entries.push(this.#builder.entry(key, value, optional));
      if (!this.#accept(',')) break;
    }
    this.#expect('}');
    return this.#inherit(this.#builder.mapAt(entries, start, this.#lexer.previousEnd));
  }

  #struct(typeName: string, start: number): Expr {
    const offset = this.#take();
    const fields: StructField[] = [];
    while (this.#lexer.kind !== '}') {
      const optional = this.#optionalMark(this.#lexer.start, "unsupported syntax '?'");
      const at = this.#lexer.start;
      const name = this.#fieldName();
      if (name === undefined) break;
      this.#expect(':');
      fields.push(this.#builder.field(name, this.#expression(), optional, at));
      if (!this.#accept(',')) break;
    }
    this.#expect('}');
    return this.#inherit(this.#builder.struct(typeName, fields, offset, start, this.#lexer.previousEnd));
  }

  #literal(): Expr {
    const lexer = this.#lexer;
    const start = lexer.start;
    const negative = lexer.kind === '-' && lexer.numberFollows();
    if (negative) lexer.next();
    const value = literalValue(lexer.kind, lexer.text, negative);
    if (value === undefined) return this.#unexpected('an expression');
    lexer.next();
    if (value instanceof LiteralError) {
      this.#report('syntax', start, value.message);
      return this.#builder.literalAt(null, start, lexer.previousEnd);
    }
    return this.#builder.literalAt(value, start, lexer.previousEnd);
  }

  #fieldName(): string | undefined {
    const lexer = this.#lexer;
    if (lexer.kind !== 'identifier' && lexer.kind !== 'escaped') {
      this.#unexpected('a field name');
      return undefined;
    }
    const escaped = lexer.kind === 'escaped';
    if (escaped && this.#options.escapedFields !== true) {
      this.#report('unsupported', lexer.start, "unsupported syntax: '`'");
    }
    const name = escaped ? lexer.text.slice(1, -1) : lexer.text;
    lexer.next();
    return name;
  }

  #optionalMark(offset: number, message: string): boolean {
    if (!this.#accept('?')) return false;
    if (this.#options.optionalSyntax === false) this.#report('unsupported', offset, message);
    return true;
  }

  // ---- tokens and errors ---------------------------------------------------------------------------------------

  #take(): number {
    const offset = this.#lexer.start;
    this.#lexer.next();
    return offset;
  }

  /** Steps on and tells what is there now. */
  #following(): TokenKind {
    this.#lexer.next();
    return this.#lexer.kind;
  }

  #accept(kind: TokenKind): boolean {
    if (this.#lexer.kind !== kind) return false;
    this.#lexer.next();
    return true;
  }

  /** Takes `kind`; when something else is there, reports it and looks for `kind` before the next closing token. */
  #expect(kind: TokenKind): void {
    if (this.#accept(kind)) return;
    this.#unexpected(`'${kind}'`);
    while (!CLOSERS.has(this.#lexer.kind)) this.#lexer.next();
    this.#accept(kind);
  }

  #unexpected(expected: string): Expr {
    const lexer = this.#lexer;
    const found = lexer.kind === 'end' ? '<EOF>' : lexer.text.slice(0, 40);
    const start = lexer.start;
    this.#report('syntax', start, `Syntax error: mismatched input '${found}' expecting ${expected}`);
    if (!CLOSERS.has(lexer.kind)) lexer.next();
    return this.#builder.literalAt(null, start, lexer.previousEnd);
  }

  #report(code: IssueCode, offset: number, message: string): void {
    if (this.issues.some((each) => each.offset === offset && each.message === message)) return;
    this.issues.push(this.#source.issue(code, offset, message));
    if (this.issues.length >= MAX_ISSUES) {
      this.issues.push(this.#source.issue('syntax', offset, `More than ${MAX_ISSUES} syntax errors`));
      throw STOP;
    }
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
    this.issues.push(this.#source.issue('too_deep', this.#lexer.start, message));
    throw STOP;
  }
}
