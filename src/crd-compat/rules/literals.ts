/** The literals and the places that rules read. Candidate values are chosen around them. */
import { type Comprehension, doubleOf, type Expr, isInt } from '../../cel/index.ts';
import type { CompiledRule } from './compiled.ts';

/** The reads below a place: fields by their (escaped) names, and the elements of lists and maps. */
export interface Reads {
  readonly fields: Map<string, Reads>;
  elements: Reads | undefined;
}

export interface Literals {
  readonly numbers: readonly number[];
  readonly texts: readonly string[];
  readonly patterns: readonly string[];
  /** Whether rules read sizes: then their numbers are lengths too. */
  readonly sizes: boolean;
  /** The names of the functions that rules call. */
  readonly functions: ReadonlySet<string>;
  readonly reads: Reads;
}

export function literalsOf(rules: readonly CompiledRule[]): Literals {
  const found = { numbers: new Set<number>(), texts: new Set<string>(), patterns: new Set<string>(), sizes: false };
  const functions = new Set<string>();
  const reads = nothing();
  const visit = (node: Expr, scope: ReadonlyMap<string, Reads>): void => {
    const at = readAt(node, scope);
    if (at !== undefined && node.kind !== 'call') return;
    switch (node.kind) {
      case 'literal': {
        const number = isInt(node.value) ? Number(node.value) : doubleOf(node.value);
        if (number !== undefined && Number.isFinite(number)) found.numbers.add(number);
        if (typeof node.value === 'string') found.texts.add(node.value);
        return;
      }
      case 'select':
        visit(node.operand, scope);
        return;
      case 'call': {
        const [pattern] = node.args;
        if (node.function === 'matches' && pattern?.kind === 'literal') found.patterns.add(String(pattern.value));
        if (node.function === 'size') found.sizes = true;
        functions.add(node.function);
        for (const each of node.target === undefined ? node.args : [node.target, ...node.args]) visit(each, scope);
        return;
      }
      case 'list':
        for (const each of node.elements) visit(each, scope);
        return;
      case 'map':
        for (const { key, value } of node.entries) {
          visit(key, scope);
          visit(value, scope);
        }
        return;
      case 'struct':
        for (const { value } of node.fields) visit(value, scope);
        return;
      case 'comprehension':
        loop(node, scope);
    }
  };
  const loop = (node: Comprehension, scope: ReadonlyMap<string, Reads>): void => {
    visit(node.range, scope);
    const range = readAt(node.range, scope);
    const element = range === undefined ? nothing() : elementsOf(range);
    const inner = new Map(scope).set(node.variable, element).set(node.variable2 ?? node.variable, element);
    for (const each of [node.initial, node.condition, node.step, node.result]) visit(each, inner);
  };
  for (const { ast } of rules)
    visit(
      ast,
      new Map([
        ['self', reads],
        ['oldSelf', reads],
      ]),
    );
  return {
    numbers: [...found.numbers].sort((left, right) => left - right),
    texts: [...found.texts].sort(),
    patterns: [...found.patterns].sort(),
    sizes: found.sizes,
    functions,
    reads,
  };
}

const nothing = (): Reads => ({ fields: new Map(), elements: undefined });

function elementsOf(reads: Reads): Reads {
  reads.elements ??= nothing();
  return reads.elements;
}

function fieldOf(reads: Reads, name: string): Reads {
  const known = reads.fields.get(name) ?? nothing();
  reads.fields.set(name, known);
  return known;
}

/** Notes that a place is read and returns the reads below it; undefined if the expression is not a place. */
function readAt(node: Expr, scope: ReadonlyMap<string, Reads>): Reads | undefined {
  if (node.kind === 'identifier') return scope.get(node.name);
  if (node.kind === 'select') {
    const parent = readAt(node.operand, scope);
    return parent === undefined ? undefined : fieldOf(parent, node.field);
  }
  if (node.kind !== 'call') return undefined;
  // With optionalOldSelf, oldSelf.value() is the old value.
  if (node.target !== undefined && (node.function === 'value' || node.function === 'orValue'))
    return readAt(node.target, scope);
  const [first, second] = node.args;
  if (first === undefined || second === undefined) return undefined;
  if (node.function === '_?._' && second.kind === 'literal') {
    const parent = readAt(first, scope);
    return parent === undefined ? undefined : fieldOf(parent, String(second.value));
  }
  if (node.function !== '_[_]' && node.function !== '_[?_]') return undefined;
  const parent = readAt(first, scope);
  return parent === undefined ? undefined : elementsOf(parent);
}
