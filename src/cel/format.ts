/**
 * Formats a syntax tree as source in a canonical style. Parsing the result gives the same tree; macros keep their
 * written form.
 */
import type { Call, Expr, MapEntry, StructField } from './ast.ts';
import { Double, Uint, type Value } from './values.ts';

/**
 * `format` writes a syntax tree as source in a canonical style.
 *
 *     const { ast } = parse('a&&(b  ||c)', { macros: new Map() });
 *     if (ast !== undefined) format(ast); // a && (b || c)
 */
export function format(node: Expr): string {
  return write(node, LOWEST);
}

/** Operator precedence: a sub-expression with a lower level than its position requires is put in parentheses. */
const LOWEST = 0;
const OR = 1;
const AND = 2;
const RELATION = 3;
const SUM = 4;
const PRODUCT = 5;
const UNARY = 6;
const MEMBER = 7;

const BINARY: Readonly<Record<string, readonly [symbol: string, level: number]>> = {
  '_<_': ['<', RELATION],
  '_<=_': ['<=', RELATION],
  '_>_': ['>', RELATION],
  '_>=_': ['>=', RELATION],
  '_==_': ['==', RELATION],
  '_!=_': ['!=', RELATION],
  '@in': ['in', RELATION],
  '_+_': ['+', SUM],
  '_-_': ['-', SUM],
  '_*_': ['*', PRODUCT],
  '_/_': ['/', PRODUCT],
  '_%_': ['%', PRODUCT],
};

const LOGICAL: Readonly<Record<string, readonly [symbol: string, level: number]>> = {
  '_&&_': ['&&', AND],
  '_||_': ['||', OR],
};

function write(node: Expr, place: number): string {
  if (node.macro !== undefined) return plainCall(node.macro);
  switch (node.kind) {
    case 'literal':
      return literal(node.value);
    case 'identifier':
      return node.name;
    case 'select':
      return node.test
        ? `has(${write(node.operand, MEMBER)}.${fieldName(node.field)})`
        : `${write(node.operand, MEMBER)}.${fieldName(node.field)}`;
    case 'call':
      return call(node, place);
    case 'list': {
      const elements = node.elements.map((each, index) => mark(node.optional.includes(index)) + write(each, LOWEST));
      return `[${elements.join(', ')}]`;
    }
    case 'map':
      return `{${node.entries.map(entry).join(', ')}}`;
    case 'struct':
      return `${node.typeName}{${node.fields.map(field).join(', ')}}`;
    case 'comprehension':
      // Only macros create these nodes; one built by hand is printed for debugging and cannot be parsed.
      return `__comprehension__(${[node.range, node.initial, node.condition, node.step, node.result].map(format).join(', ')})`;
  }
}

const mark = (optional: boolean): string => (optional ? '?' : '');
const entry = (each: MapEntry): string => `${mark(each.optional)}${format(each.key)}: ${format(each.value)}`;
const field = (each: StructField): string => `${mark(each.optional)}${fieldName(each.name)}: ${format(each.value)}`;

function call(node: Call, place: number): string {
  const [first, second, third] = node.args as [Expr, Expr, Expr];
  const binary = BINARY[node.function];
  if (binary !== undefined && node.args.length === 2) {
    const [symbol, level] = binary;
    return parenthesize(`${write(first, level)} ${symbol} ${write(second, level + 1)}`, level < place);
  }
  const logical = LOGICAL[node.function];
  if (logical !== undefined && node.args.length === 2) {
    const [symbol, level] = logical;
    return parenthesize(
      logicalTerms(node)
        .map((each) => write(each, level + 1))
        .join(` ${symbol} `),
      level < place,
    );
  }
  switch (node.function) {
    case '_?_:_':
      return parenthesize(`${write(first, OR)} ? ${write(second, OR)} : ${write(third, LOWEST)}`, place > LOWEST);
    case '!_':
      return parenthesize(`!${operand(first, '!')}`, UNARY < place);
    case '-_':
      return parenthesize(`-${operand(first, '-')}`, UNARY < place);
    case '_[_]':
      return `${write(first, MEMBER)}[${format(second)}]`;
    case '_[?_]':
      return `${write(first, MEMBER)}[?${format(second)}]`;
    case '_?._':
      if (second.kind === 'literal') return `${write(first, MEMBER)}.?${fieldName(String(second.value))}`;
  }
  return plainCall(node);
}

const parenthesize = (text: string, needed: boolean): string => (needed ? `(${text})` : text);

function plainCall(node: Call): string {
  const args = node.args.map(format).join(', ');
  return node.target === undefined
    ? `${node.function}(${args})`
    : `${write(node.target, MEMBER)}.${node.function}(${args})`;
}

/** Two signs would cancel out, and a sign before a number would form a literal, so such operands get parentheses. */
function operand(node: Expr, sign: string): string {
  const text = write(node, MEMBER);
  return text.startsWith(sign) || (sign === '-' && /^[0-9.]/.test(text)) ? `(${text})` : text;
}

/** Returns the terms of a chain if the parser would balance them into this tree; otherwise the two operands. */
function logicalTerms(node: Call): readonly Expr[] {
  const terms = chain(node, node.function);
  return sameShape(node, balanced(terms, 0, terms.length - 2), node.function) ? terms : (node.args as readonly Expr[]);
}

const isLink = (node: Expr, name: string): node is Call =>
  node.kind === 'call' && node.function === name && node.macro === undefined;

const chain = (node: Expr, name: string): Expr[] =>
  isLink(node, name) ? node.args.flatMap((each) => chain(each, name)) : [node];

type Shape = Expr | readonly [Shape, Shape];

/** Returns the shape of the tree that the parser builds for a chain; see `#balance` there. */
function balanced(terms: readonly Expr[], low: number, high: number): Shape {
  const middle = (low + high + 1) >> 1;
  const left = middle === low ? (terms[middle] as Expr) : balanced(terms, low, middle - 1);
  const right = middle === high ? (terms[middle + 1] as Expr) : balanced(terms, middle + 1, high);
  return [left, right];
}

function sameShape(node: Expr, shape: Shape, name: string): boolean {
  if (!Array.isArray(shape)) return node === shape;
  if (!isLink(node, name)) return false;
  return node.args.every((each, index) => sameShape(each, shape[index] as Shape, name));
}

const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;
const KEYWORDS = new Set(['in', 'true', 'false', 'null']);

const fieldName = (name: string): string => (IDENTIFIER.test(name) && !KEYWORDS.has(name) ? name : `\`${name}\``);

/** `literal` writes a value as a CEL literal, if it has one. */
export function literal(value: Value): string {
  if (typeof value === 'string') return quote(value);
  if (value instanceof Uint8Array) return `b"${[...value].map(byte).join('')}"`;
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Double) return Object.is(value.value, -0) ? '-0.0' : `${value.value}.0`;
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) return real(value);
  return String(value);
}

/** A large double always gets an exponent: without one it would be an int. */
const real = (value: number): string => value.toExponential();

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (each) => {
    return ESCAPES[each] ?? `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return `"${escaped}"`;
}

function byte(value: number): string {
  const character = String.fromCharCode(value);
  if (value < 0x20 || value > 0x7e) return `\\x${value.toString(16).padStart(2, '0')}`;
  return ESCAPES[character] ?? character;
}
