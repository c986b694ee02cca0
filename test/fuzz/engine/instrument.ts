/**
 * Coverage counters in our own modules. Source text comes in; the same text goes out with a counter in each function and branch, and with the
 * string literals that it compares input with. Lines stay where they are, so that stack traces point at the source.
 */
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { parseAst } from 'vite';

/** The instrumented modules by their URL. */
export type Coverage = Map<string, ModuleCoverage>;

interface ModuleCoverage {
  /** One for each branch. */
  readonly counters: Uint32Array;
  /** The string literals: words that the parsers know. */
  readonly words: ReadonlySet<string>;
}

const shared = '__fuzzCounters';

/** `instrumentImports` instruments every module below a URL that this thread loads from now on. */
export function instrumentImports(below: string): Coverage {
  const coverage: Coverage = new Map();
  const all: Uint32Array[] = [];
  (globalThis as Record<string, unknown>)[shared] = all;
  registerHooks({
    load(url, context, nextLoad) {
      if (!url.endsWith('.ts') || !url.startsWith(below)) return nextLoad(url, context);
      const { source } = nextLoad(url, { ...context, format: 'module-typescript' });
      const { code, branches, words } = instrument(stripTypeScriptTypes(String(source)), `${shared}[${all.length}]`);
      const counters = new Uint32Array(branches);
      all.push(counters);
      coverage.set(url, { counters, words });
      return { format: 'module', shortCircuit: true, source: code };
    },
  });
  return coverage;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

interface Instrumented {
  readonly code: string;
  readonly branches: number;
  readonly words: ReadonlySet<string>;
}

/** `instrument` adds a counter at the start of every function, branch, loop and case. `counters` is an expression for their array. */
export function instrument(code: string, counters: string): Instrumented {
  const opening = new Map<number, string>();
  const closing = new Map<number, string>();
  const words = new Set<string>();
  let branches = 0;
  const count = () => `__fuzz[${branches++}]++`;
  const enter = (node: SyntaxNode) => {
    if (node.type === 'BlockStatement') add(opening, node.start + 1, `${count()};`);
    else {
      add(opening, node.start, `{${count()};`);
      closing.set(node.end, `}${closing.get(node.end) ?? ''}`);
    }
  };
  const wrap = (node: SyntaxNode) => {
    add(opening, node.start, `(${count()},`);
    closing.set(node.end, `)${closing.get(node.end) ?? ''}`);
  };
  visit(parseAst(code) as unknown as SyntaxNode, (node) => {
    for (const field of branchFields[node.type] ?? []) {
      const branch = node[field] as SyntaxNode | null | undefined;
      if (branch === null || branch === undefined) continue;
      if (isExpression(node, branch)) wrap(branch);
      else enter(branch);
    }
    if (node.type === 'SwitchCase') {
      const [first] = node.consequent as readonly SyntaxNode[];
      if (first !== undefined) add(opening, first.start, `${count()};`);
    }
    if (node.type === 'Literal' && typeof node.value === 'string' && isWord.test(node.value)) words.add(node.value);
  });
  // On the first line, so that line numbers stay. Function declarations of a module can run before its first statement.
  const access = `var __fuzz=${counters};`;
  return { code: access + spliced(code, opening, closing), branches, words };
}

/** The fields that hold what runs only sometimes. */
const branchFields: Readonly<Record<string, readonly string[]>> = {
  FunctionDeclaration: ['body'],
  FunctionExpression: ['body'],
  ArrowFunctionExpression: ['body'],
  IfStatement: ['consequent', 'alternate'],
  ForStatement: ['body'],
  ForInStatement: ['body'],
  ForOfStatement: ['body'],
  WhileStatement: ['body'],
  DoWhileStatement: ['body'],
  CatchClause: ['body'],
  ConditionalExpression: ['consequent', 'alternate'],
  LogicalExpression: ['right'],
  AssignmentPattern: ['right'],
};

const isExpression = (node: SyntaxNode, branch: SyntaxNode): boolean =>
  ['ConditionalExpression', 'LogicalExpression', 'AssignmentPattern'].includes(node.type) ||
  (node.type === 'ArrowFunctionExpression' && branch.type !== 'BlockStatement');

/** Prose, such as the texts of messages, is not what input has. */
const isWord = /^\S{1,40}$/;

const add = (texts: Map<number, string>, at: number, text: string) => texts.set(at, (texts.get(at) ?? '') + text);

function visit(node: SyntaxNode, look: (node: SyntaxNode) => void): void {
  look(node);
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each === 'object' && each !== null && typeof each.type === 'string') visit(each as SyntaxNode, look);
    }
  }
}

function spliced(code: string, opening: Map<number, string>, closing: Map<number, string>): string {
  const places = [...new Set([...opening.keys(), ...closing.keys()])].sort((one, other) => one - other);
  let made = '';
  let from = 0;
  for (const at of places) {
    made += code.slice(from, at) + (closing.get(at) ?? '') + (opening.get(at) ?? '');
    from = at;
  }
  return made + code.slice(from);
}
