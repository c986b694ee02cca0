/** Resolves names in their scope: loop variables and declarations of the environment. */
import type { Expr } from '../ast.ts';
import type { Overload } from '../declarations.ts';
import type { Environment } from '../environment.ts';
import type { Type } from '../types.ts';
import type { Reference } from './checked.ts';

interface Named {
  readonly type: Type;
  readonly reference: Reference;
}

export class Names {
  readonly #environment: Environment;
  /** Loop variables, innermost scope last. */
  readonly #scopes: ReadonlyMap<string, Type>[] = [];

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  enter(scope: ReadonlyMap<string, Type>): void {
    this.#scopes.push(scope);
  }

  leave(): void {
    this.#scopes.pop();
  }

  /** Returns the variable or type `name`; undefined if there is none. */
  identifier(name: string): Named | undefined {
    if (!name.startsWith('.')) {
      const local = this.#scopes.findLast((scope) => scope.has(name))?.get(name);
      if (local !== undefined) return { type: local, reference: { kind: 'local', name } };
    }
    return declaredIdentifier(name, this.#environment);
  }

  /** Reports whether `a` of `a.b.c` is a loop variable. */
  startsLocal(name: string): boolean {
    const first = name.slice(0, name.indexOf('.'));
    return this.#scopes.some((scope) => scope.has(first));
  }

  variables(): Iterable<string> {
    return [...this.#scopes.flatMap((scope) => [...scope.keys()]), ...this.#environment.variables.keys()];
  }

  /** Returns the names of functions and macros. */
  *functions(member: boolean): Iterable<string> {
    for (const [name, overloads] of this.#environment.functions) {
      if (overloads.some((each) => each.member === member)) yield name;
    }
    for (const [name, macros] of this.#environment.macros) {
      if (macros.some((each) => each.member === member)) yield name;
    }
  }
}

export function declaredIdentifier(name: string, environment: Environment): Named | undefined {
  for (const candidate of environment.candidates(name)) {
    const found = environment.identifier(candidate);
    if (found === undefined) continue;
    const { type, value } = found;
    return { type, reference: value === undefined ? { kind: 'variable', name: candidate } : { kind: 'type', value } };
  }
  return undefined;
}

export function declaredFunction(
  name: string,
  environment: Environment,
): { readonly name: string; readonly overloads: readonly Overload[] } | undefined {
  for (const candidate of environment.candidates(name)) {
    const overloads = environment.functions.get(candidate);
    if (overloads !== undefined) return { name: candidate, overloads };
  }
  return undefined;
}

/** `qualifiedName` returns `a.b.c` if the expression consists of identifiers and dots only. */
export function qualifiedName(node: Expr): string | undefined {
  if (node.kind === 'identifier') return node.name;
  if (node.kind !== 'select' || node.test) return undefined;
  const prefix = qualifiedName(node.operand);
  return prefix === undefined ? undefined : `${prefix}.${node.field}`;
}
