/** Resolves the names of an unchecked expression as far as possible; every type is dyn. */
import type { Expr } from '../ast.ts';
import type { Environment } from '../environment.ts';
import type { Source } from '../source.ts';
import { DYN } from '../types.ts';
import type { Checked, Reference } from './checked.ts';
import { declaredFunction, declaredIdentifier, qualifiedName } from './names.ts';

/**
 * `resolve` returns the result of `check` as if every type were dyn. It reports no errors; type errors occur at run
 * time.
 */
export function resolve(source: Source, ast: Expr, environment: Environment): Checked {
  const references = new Map<number, Reference>();
  const types: Checked['types'] = new Map();
  const result: Checked = { source, ast, environment, types, references, type: DYN };
  visit(ast, [], environment, references);
  return result;
}

function visit(
  node: Expr,
  scopes: readonly ReadonlySet<string>[],
  environment: Environment,
  references: Map<number, Reference>,
): void {
  const go = (each: Expr, inner = scopes): void => visit(each, inner, environment, references);
  switch (node.kind) {
    case 'literal':
      return;
    case 'identifier':
      references.set(node.id, identifier(node.name, scopes, environment) ?? variable(node.name));
      return;
    case 'select': {
      const name = node.test ? undefined : qualifiedName(node);
      const found = name === undefined ? undefined : identifier(name, scopes, environment);
      if (found !== undefined) references.set(node.id, found);
      else go(node.operand);
      return;
    }
    case 'call': {
      const prefix = node.target === undefined ? undefined : qualifiedName(node.target);
      const global = prefix === undefined ? node.function : `${prefix}.${node.function}`;
      const found = functionNamed(global, node.target === undefined || prefix !== undefined, environment);
      const reference = found ?? functionNamed(node.function, true, environment);
      if (reference !== undefined) {
        const member = node.target !== undefined && found === undefined;
        references.set(node.id, { ...reference, member });
      }
      if (node.target !== undefined && (found === undefined || prefix === undefined)) go(node.target);
      for (const each of node.args) go(each);
      return;
    }
    case 'list':
      for (const each of node.elements) go(each);
      return;
    case 'map':
      for (const each of node.entries) {
        go(each.key);
        go(each.value);
      }
      return;
    case 'struct': {
      const found = identifier(node.typeName, scopes, environment);
      if (found !== undefined) references.set(node.id, found);
      for (const each of node.fields) go(each.value);
      return;
    }
    case 'comprehension': {
      go(node.range);
      go(node.initial);
      const outer = [...scopes, new Set([node.accumulator])];
      const names = node.variable2 === undefined ? [node.variable] : [node.variable, node.variable2];
      const inner = [...outer, new Set(names)];
      go(node.condition, inner);
      go(node.step, inner);
      go(node.result, outer);
    }
  }
}

const variable = (name: string): Reference => ({ kind: 'variable', name: name.replace(/^\./, '') });

function identifier(
  name: string,
  scopes: readonly ReadonlySet<string>[],
  environment: Environment,
): Reference | undefined {
  const [first = name] = name.split('.', 1);
  if (scopes.some((scope) => scope.has(first))) return first === name ? { kind: 'local', name } : undefined;
  return declaredIdentifier(name, environment)?.reference;
}

function functionNamed(
  name: string,
  look: boolean,
  environment: Environment,
): (Reference & { kind: 'function' }) | undefined {
  if (!look) return undefined;
  const found = declaredFunction(name, environment);
  return found === undefined ? undefined : { kind: 'function', ...found, member: false, unchecked: true };
}
