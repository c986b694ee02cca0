/**
 * Gives every expression a type and every call its overloads, or says why it cannot: all the errors, not the first.
 * The order of the steps is cel-go's, because it decides which types parameters are bound to.
 */
import type { Call, Comprehension, Expr, ListLiteral, MapLiteral, Select, StructLiteral } from '../ast.ts';
import type { Overload } from '../declarations.ts';
import type { Environment } from '../environment.ts';
import type { Issue, IssueCode, Source } from '../source.ts';
import * as types from '../types.ts';
import { BOOL, DYN, ERROR, INT, isOptional, parameterOf, sameType, type Type, typeName } from '../types.ts';
import { doubleOf, type TypeValue, Uint, type Value } from '../values.ts';
import { didYouMean } from './suggest.ts';
import { isDyn, isDynOrError, mostGeneral, Unifier, unwrapOptional } from './unify.ts';

/** What a name in the source turned out to mean. */
export type Reference =
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'local'; readonly name: string }
  | { readonly kind: 'type'; readonly value: TypeValue }
  /** `member` is false for a call written `a.b(…)` that means the global function `a.b`. */
  | {
      readonly kind: 'function';
      readonly name: string;
      readonly overloads: readonly Overload[];
      readonly member: boolean;
      /** From an expression that was not checked: the overloads are all there are. */
      readonly unchecked?: boolean;
    };

export interface Checked {
  readonly source: Source;
  readonly ast: Expr;
  readonly environment: Environment;
  /** By node id. */
  readonly types: ReadonlyMap<number, Type>;
  readonly references: ReadonlyMap<number, Reference>;
  readonly type: Type;
}

export interface CheckResult {
  readonly checked?: Checked;
  readonly issues: readonly Issue[];
}

export function check(source: Source, ast: Expr, environment: Environment): CheckResult {
  const checker = new Checker(source, environment);
  checker.check(ast);
  if (checker.issues.length > 0) return { issues: checker.issues };
  return { checked: checker.result(ast), issues: [] };
}

class Checker {
  readonly issues: Issue[] = [];
  readonly #source: Source;
  readonly #environment: Environment;
  readonly #unifier = new Unifier();
  readonly #types = new Map<number, Type>();
  readonly #references = new Map<number, Reference>();
  /** Variables of loops, innermost last. */
  #scopes: ReadonlyMap<string, Type>[] = [];

  constructor(source: Source, environment: Environment) {
    this.#source = source;
    this.#environment = environment;
  }

  result(ast: Expr): Checked {
    const closed = new Map<number, Type>();
    for (const [id, each] of this.#types) closed.set(id, this.#unifier.substitute(each, true));
    return {
      source: this.#source,
      ast,
      environment: this.#environment,
      types: closed,
      references: this.#references,
      type: closed.get(ast.id) ?? DYN,
    };
  }

  check(node: Expr): Type {
    const found = this.#check(node);
    this.#types.set(node.id, found);
    return found;
  }

  #check(node: Expr): Type {
    switch (node.kind) {
      case 'literal':
        return literalType(node.value);
      case 'identifier':
        return this.#identifier(node.id, node.name) ?? this.#undeclared(node, node.name, this.#variableNames());
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'list':
        return this.#list(node);
      case 'map':
        return this.#map(node);
      case 'struct':
        return this.#struct(node);
      case 'comprehension':
        return this.#comprehension(node);
    }
  }

  /** The type of the variable or type `name`, noting what it refers to; undefined when there is none. */
  #identifier(id: number, name: string): Type | undefined {
    if (!name.startsWith('.')) {
      for (let index = this.#scopes.length - 1; index >= 0; index--) {
        const local = this.#scopes[index]?.get(name);
        if (local !== undefined) {
          this.#references.set(id, { kind: 'local', name });
          return local;
        }
      }
    }
    for (const candidate of this.#environment.candidates(name)) {
      const found = this.#environment.identifier(candidate);
      if (found === undefined) continue;
      const reference: Reference =
        found.value === undefined ? { kind: 'variable', name: candidate } : { kind: 'type', value: found.value };
      this.#references.set(id, reference);
      return found.type;
    }
    return undefined;
  }

  #select(node: Select): Type {
    const name = node.test ? undefined : qualifiedName(node);
    // `a.b.c` may be the name of a variable or type, unless `a` is a loop's variable.
    if (name !== undefined && !this.#startsLocal(name)) {
      const found = this.#identifier(node.id, name);
      if (found !== undefined) return found;
    }
    const result = this.#field(node, node.operand, node.field, false);
    return node.test ? BOOL : result;
  }

  #startsLocal(name: string): boolean {
    const first = name.slice(0, name.indexOf('.'));
    return this.#scopes.some((scope) => scope.has(first));
  }

  #field(node: Expr, operand: Expr, field: string, optional: boolean): Type {
    const operandType = this.#unifier.substitute(this.check(operand), false);
    const target = unwrapOptional(operandType);
    let result = DYN;
    if (target.kind === 'map') result = parameterOf(target, 1);
    else if (target.kind === 'object') result = this.#objectField(node.offset, target.name, field);
    else if (target.kind === 'parameter') this.#unifier.assignable(DYN, target);
    else if (!isDynOrError(target)) {
      this.#report('type_mismatch', node, `type '${typeName(target)}' does not support field selection`);
    }
    const resolved = this.#unifier.substitute(result, false);
    return optional || isOptional(operandType) ? types.optional(resolved) : resolved;
  }

  #objectField(offset: number, name: string, field: string): Type {
    const object = this.#environment.objectType(name);
    const found = object?.field(field);
    if (found !== undefined) return found;
    const hint = object === undefined ? '' : didYouMean(field, object.fieldNames());
    this.#reportAt('no_such_field', offset, `undefined field '${field}'${hint}`);
    return ERROR;
  }

  #call(node: Call): Type {
    if (node.function === '_?._') return this.#optionalSelect(node);
    for (const argument of node.args) this.check(argument);
    const target = node.target;
    if (target === undefined) {
      if (node.function === '_[_]' && this.#isRecordField(node)) return this.#recordField(node);
      const found = this.#function(node.function);
      if (found === undefined) return this.#undeclared(node, node.function, this.#functionNames(false));
      return this.#resolve(node, found.name, found.overloads, undefined);
    }
    const prefix = qualifiedName(target);
    if (prefix !== undefined) {
      const found = this.#function(`${prefix}.${node.function}`);
      if (found !== undefined) return this.#resolve(node, found.name, found.overloads, undefined);
    }
    this.check(target);
    const found = this.#function(node.function);
    if (found === undefined) return this.#undeclared(node, node.function, this.#functionNames(true));
    return this.#resolve(node, found.name, found.overloads, target);
  }

  #optionalSelect(node: Call): Type {
    const [operand, field] = node.args as [Expr, Expr];
    if (field.kind !== 'literal' || typeof field.value !== 'string') {
      this.#report('unsupported', node, 'unsupported optional field selection');
      return ERROR;
    }
    const overloads = this.#environment.functions.get('_?._') ?? [];
    this.#references.set(node.id, { kind: 'function', name: '_?._', overloads, member: false });
    this.#types.set(field.id, types.STRING);
    return this.#field(node, operand, field.value, true);
  }

  /** `record["field"]`: the same as `record.field`, for names that are no identifiers. */
  #isRecordField({ args: [operand, key] }: Call): boolean {
    const of = operand === undefined ? undefined : this.#types.get(operand.id);
    return of?.record === true && key?.kind === 'literal' && typeof key.value === 'string';
  }

  #recordField(node: Call): Type {
    const [operand, key] = node.args as [Expr, Expr & { kind: 'literal' }];
    const overloads = (this.#environment.functions.get('_[_]') ?? []).filter(({ id }) => id === 'index_map');
    this.#references.set(node.id, { kind: 'function', name: '_[_]', overloads, member: false });
    return this.#objectField(key.offset, (this.#types.get(operand.id) as Type).name, key.value as string);
  }

  #function(name: string): { name: string; overloads: readonly Overload[] } | undefined {
    for (const candidate of this.#environment.candidates(name)) {
      const overloads = this.#environment.functions.get(candidate);
      if (overloads !== undefined) return { name: candidate, overloads };
    }
    return undefined;
  }

  #resolve(node: Call, name: string, overloads: readonly Overload[], target: Expr | undefined): Type {
    const args = target === undefined ? node.args : [target, ...node.args];
    const argumentTypes = args.map((each) => this.#types.get(each.id) ?? ERROR);
    if (name === '_&&_' || name === '_||_') return this.#logical(node, name, overloads, argumentTypes);
    const matching: Overload[] = [];
    let result: Type | undefined;
    for (const overload of overloads) {
      if (overload.member !== (target !== undefined)) continue;
      const [resultType, ...parameters] = this.#unifier.instantiate([overload.result, ...overload.parameters]);
      if (!this.#unifier.assignableAll(argumentTypes, parameters)) continue;
      matching.push(overload);
      const found = this.#unifier.substitute(resultType as Type, false);
      if (result === undefined) result = found;
      else if (!isDyn(result) && !sameType(found, result)) result = DYN;
    }
    if (result === undefined && this.#comparesLoosely(name, argumentTypes)) {
      matching.push(...overloads);
      result = BOOL;
    }
    if (result === undefined) {
      const shown = argumentTypes.map((each) => typeName(this.#unifier.substitute(each, true)));
      const signature = target === undefined ? `(${shown.join(', ')})` : `${shown[0]}.(${shown.slice(1).join(', ')})`;
      this.#report('no_such_overload', node, `found no matching overload for '${name}' applied to '${signature}'`);
      return ERROR;
    }
    this.#references.set(node.id, { kind: 'function', name, overloads: matching, member: target !== undefined });
    return result;
  }

  #comparesLoosely(name: string, argumentTypes: readonly Type[]): boolean {
    if (!this.#environment.language.looseEquality || (name !== '_==_' && name !== '_!=_')) return false;
    return argumentTypes.some((each) => each.kind === 'null') || argumentTypes.every((each) => NUMBERS.has(each.kind));
  }

  #logical(node: Call, name: string, overloads: readonly Overload[], argumentTypes: readonly Type[]): Type {
    let fits = true;
    argumentTypes.forEach((each, index) => {
      if (this.#unifier.assignable(each, BOOL)) return;
      fits = false;
      this.#mismatch(node.args[index] as Expr, BOOL, each);
    });
    this.#references.set(node.id, { kind: 'function', name, overloads, member: false });
    return fits ? BOOL : ERROR;
  }

  #list(node: ListLiteral): Type {
    let element: Type | undefined;
    node.elements.forEach((each, index) => {
      const found = this.#maybeOptional(each, node.optional.includes(index));
      element = this.#join(element, found);
    });
    return types.list(element ?? this.#unifier.fresh());
  }

  #map(node: MapLiteral): Type {
    let key: Type | undefined;
    let value: Type | undefined;
    for (const entry of node.entries) {
      key = this.#join(key, this.check(entry.key));
      value = this.#join(value, this.#maybeOptional(entry.value, entry.optional));
    }
    return types.map(key ?? this.#unifier.fresh(), value ?? this.#unifier.fresh());
  }

  /** The type of an element; of one written `?x` the type inside the optional. */
  #maybeOptional(node: Expr, optional: boolean): Type {
    const found = this.check(node);
    if (!optional) return found;
    if (!isOptional(found) && !isDyn(found)) this.#mismatch(node, types.optional(found), found);
    return unwrapOptional(found);
  }

  #join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    if (this.#unifier.assignable(previous, current)) {
      // Null joins what may be null without taking its type away.
      if (current.kind === 'null') return previous;
      return previous.kind === 'null' ? current : mostGeneral(previous, current);
    }
    // Where literals must be of one type, `validate` says so: it knows which calls take mixed ones.
    return DYN;
  }

  #struct(node: StructLiteral): Type {
    const found = this.#identifier(node.id, node.typeName);
    if (found === undefined) return this.#undeclared(node, node.typeName, []);
    const made = found.kind === 'type' ? parameterOf(found, 0) : undefined;
    const object = made?.kind === 'object' ? this.#environment.objectType(made.name) : undefined;
    if (made === undefined || object?.constructible !== true) {
      this.#report('unknown_type', node, `'${node.typeName}' is not a message type`);
    }
    for (const field of node.fields) {
      const value = this.#maybeOptional(field.value, field.optional);
      if (object === undefined) continue;
      const expected = this.#objectField(field.offset, object.name, field.name);
      if (this.#unifier.assignable(expected, value)) continue;
      const shown = `'${typeName(expected)}' but provided type is '${typeName(this.#unifier.substitute(value, true))}'`;
      this.#reportAt('type_mismatch', field.offset, `expected type of field '${field.name}' is ${shown}`);
    }
    return made ?? ERROR;
  }

  #comprehension(node: Comprehension): Type {
    const range = this.#unifier.substitute(this.check(node.range), false);
    const accumulator = this.check(node.initial);
    const outer = this.#scopes;
    const scope = [...outer, new Map([[node.accumulator, accumulator]])];
    const [first, second] = this.#loopTypes(node, range);
    const variables = new Map([[node.variable, first]]);
    if (node.variable2 !== undefined) variables.set(node.variable2, second);
    this.#scopes = [...scope, variables];
    this.#assert(node.condition, this.check(node.condition), BOOL);
    this.#assert(node.step, this.check(node.step), accumulator);
    this.#scopes = scope;
    const result = this.check(node.result);
    this.#scopes = outer;
    return this.#unifier.substitute(result, false);
  }

  #loopTypes(node: Comprehension, range: Type): [Type, Type] {
    const two = node.variable2 !== undefined;
    switch (range.kind) {
      case 'list':
        return two ? [INT, parameterOf(range, 0)] : [parameterOf(range, 0), DYN];
      case 'map':
        return [parameterOf(range, 0), parameterOf(range, 1)];
      case 'object':
        if (range.record === true) return [types.STRING, DYN];
        return this.#noRange(node, range);
      case 'dyn':
      case 'error':
      case 'parameter':
        this.#unifier.assignable(DYN, range);
        return [DYN, DYN];
      default:
        return this.#noRange(node, range);
    }
  }

  #noRange(node: Comprehension, range: Type): [Type, Type] {
    const shown = typeName(range);
    const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`;
    this.#report('type_mismatch', node.range, message);
    return [ERROR, ERROR];
  }

  #assert(node: Expr, actual: Type, expected: Type): void {
    if (!this.#unifier.assignable(expected, actual)) this.#mismatch(node, expected, actual);
  }

  // ---- errors --------------------------------------------------------------------------------------------------

  #mismatch(node: Expr, expected: Type, actual: Type): void {
    const [wanted, found] = [expected, actual].map((each) => typeName(this.#unifier.substitute(each, true)));
    this.#report('type_mismatch', node, `expected type '${wanted}' but found '${found}'`);
  }

  #undeclared(node: Expr, name: string, known: Iterable<string>): Type {
    const container = this.#environment.language.container;
    const message = `undeclared reference to '${name}' (in container '${container}')${didYouMean(name, known)}`;
    this.#report('undeclared_reference', node, message);
    return ERROR;
  }

  #variableNames(): Iterable<string> {
    return [...this.#scopes.flatMap((scope) => [...scope.keys()]), ...this.#environment.variables.keys()];
  }

  *#functionNames(member: boolean): Iterable<string> {
    for (const [name, overloads] of this.#environment.functions) {
      if (overloads.some((each) => each.member === member)) yield name;
    }
    for (const [name, macros] of this.#environment.macros)
      if (macros.some((each) => each.member === member)) yield name;
  }

  #report(code: IssueCode, node: Expr, message: string): void {
    this.#reportAt(code, node.offset, message);
  }

  #reportAt(code: IssueCode, offset: number, message: string): void {
    // A macro may copy what was written: the same complaint about the same place is said once.
    if (this.issues.some((each) => each.offset === offset && each.message === message)) return;
    this.issues.push(this.#source.issue(code, offset, message));
  }
}

const NUMBERS: ReadonlySet<Type['kind']> = new Set(['int', 'uint', 'double']);

/** `a.b.c` as a name, when the expression is nothing but identifiers and dots. */
export function qualifiedName(node: Expr): string | undefined {
  if (node.kind === 'identifier') return node.name;
  if (node.kind !== 'select' || node.test) return undefined;
  const prefix = qualifiedName(node.operand);
  return prefix === undefined ? undefined : `${prefix}.${node.field}`;
}

function literalType(value: Value): Type {
  if (value === null) return types.NULL;
  if (typeof value === 'boolean') return BOOL;
  if (typeof value === 'string') return types.STRING;
  if (value instanceof Uint8Array) return types.BYTES;
  if (value instanceof Uint) return types.UINT;
  return doubleOf(value) === undefined ? INT : types.DOUBLE;
}
