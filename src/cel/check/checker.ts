/**
 * Infers the type of every expression and selects the overloads of every call. It reports all errors, not only the
 * first. The steps run in the order of cel-go, because the order decides which types parameters are bound to.
 */
import type { Call, Comprehension, Expr, ListLiteral, MapLiteral, Select, StructLiteral } from '../ast.ts';
import type { Overload } from '../declarations.ts';
import type { Environment } from '../environment.ts';
import type { Issue, IssueCode, Source } from '../source.ts';
import * as types from '../types.ts';
import { BOOL, DYN, ERROR, INT, isOptional, parameterOf, type Type, typeName } from '../types.ts';
import { doubleOf, Uint, type Value } from '../values.ts';
import type { Checked, CheckResult, Reference } from './checked.ts';
import { declaredFunction, Names, qualifiedName } from './names.ts';
import { matchOverloads } from './overloads.ts';
import { didYouMean } from './suggest.ts';
import { isDyn, isDynOrError, mostGeneral, Unifier, unwrapOptional } from './unify.ts';

export type { Checked, CheckResult, Reference } from './checked.ts';

/**
 * `check` resolves the names of a parsed expression and infers its types. It reports all issues, not only the first.
 *
 *     const env = environment('kubernetes-1.36', { variables: { x: types.INT } });
 *     const { source, ast } = parse('x + 1', { macros: env.macros, ...env.language });
 *     if (ast !== undefined) check(source, ast, env).checked?.type.name; // int
 */
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
  readonly #names: Names;

  constructor(source: Source, environment: Environment) {
    this.#source = source;
    this.#environment = environment;
    this.#names = new Names(environment);
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
        return this.#identifier(node.id, node.name) ?? this.#undeclared(node, node.name, this.#names.variables());
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

  /** Returns the type of the variable or type `name` and records the reference; undefined if there is none. */
  #identifier(id: number, name: string): Type | undefined {
    const found = this.#names.identifier(name);
    if (found !== undefined) this.#references.set(id, found.reference);
    return found?.type;
  }

  #select(node: Select): Type {
    const name = node.test ? undefined : qualifiedName(node);
    // `a.b.c` may be the name of a variable or type, unless `a` is a loop variable.
    if (name !== undefined && !this.#names.startsLocal(name)) {
      const found = this.#identifier(node.id, name);
      if (found !== undefined) return found;
    }
    const result = this.#field(node, node.operand, node.field, false);
    return node.test ? BOOL : result;
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
      const found = declaredFunction(node.function, this.#environment);
      if (found === undefined) return this.#undeclared(node, node.function, this.#names.functions(false));
      return this.#resolve(node, found.name, found.overloads, undefined);
    }
    const prefix = qualifiedName(target);
    if (prefix !== undefined) {
      const found = declaredFunction(`${prefix}.${node.function}`, this.#environment);
      if (found !== undefined) return this.#resolve(node, found.name, found.overloads, undefined);
    }
    this.check(target);
    const found = declaredFunction(node.function, this.#environment);
    if (found === undefined) return this.#undeclared(node, node.function, this.#names.functions(true));
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

  /** Reports whether the call is `record["field"]`, which is `record.field` for names that are not identifiers. */
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

  #resolve(node: Call, name: string, overloads: readonly Overload[], target: Expr | undefined): Type {
    const args = target === undefined ? node.args : [target, ...node.args];
    const argumentTypes = args.map((each) => this.#types.get(each.id) ?? ERROR);
    if (name === '_&&_' || name === '_||_') return this.#logical(node, name, overloads, argumentTypes);
    const found = matchOverloads(overloads, argumentTypes, target !== undefined, this.#unifier);
    if (found === undefined && this.#comparesLoosely(name, argumentTypes)) {
      this.#references.set(node.id, { kind: 'function', name, overloads, member: target !== undefined });
      return BOOL;
    }
    if (found === undefined) {
      const shown = argumentTypes.map((each) => typeName(this.#unifier.substitute(each, true)));
      const signature = target === undefined ? `(${shown.join(', ')})` : `${shown[0]}.(${shown.slice(1).join(', ')})`;
      this.#report('no_such_overload', node, `found no matching overload for '${name}' applied to '${signature}'`);
      return ERROR;
    }
    this.#references.set(node.id, { kind: 'function', name, overloads: found.matching, member: target !== undefined });
    return found.result;
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

  /** Returns the type of an element; for an element written `?x`, the type inside the optional. */
  #maybeOptional(node: Expr, optional: boolean): Type {
    const found = this.check(node);
    if (!optional) return found;
    if (!isOptional(found) && !isDyn(found)) this.#mismatch(node, types.optional(found), found);
    return unwrapOptional(found);
  }

  #join(previous: Type | undefined, current: Type): Type {
    if (previous === undefined) return current;
    if (this.#unifier.assignable(previous, current)) {
      // Joining null with a nullable type keeps the nullable type.
      if (current.kind === 'null') return previous;
      return previous.kind === 'null' ? current : mostGeneral(previous, current);
    }
    // `validate` enforces homogeneous literals, because it knows which calls accept mixed ones.
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
    const [first, second] = this.#loopTypes(node, range);
    const variables = new Map([[node.variable, first]]);
    if (node.variable2 !== undefined) variables.set(node.variable2, second);
    this.#names.enter(new Map([[node.accumulator, accumulator]]));
    this.#names.enter(variables);
    this.#assert(node.condition, this.check(node.condition), BOOL);
    this.#assert(node.step, this.check(node.step), accumulator);
    this.#names.leave();
    const result = this.check(node.result);
    this.#names.leave();
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

  #report(code: IssueCode, node: Expr, message: string): void {
    this.#reportAt(code, node.offset, message);
  }

  #reportAt(code: IssueCode, offset: number, message: string): void {
    // A macro may copy its arguments, so identical errors at the same position are reported once.
    if (this.issues.some((each) => each.offset === offset && each.message === message)) return;
    this.issues.push(this.#source.issue(code, offset, message));
  }
}

const NUMBERS: ReadonlySet<Type['kind']> = new Set(['int', 'uint', 'double']);

function literalType(value: Value): Type {
  if (value === null) return types.NULL;
  if (typeof value === 'boolean') return BOOL;
  if (typeof value === 'string') return types.STRING;
  if (value instanceof Uint8Array) return types.BYTES;
  if (value instanceof Uint) return types.UINT;
  return doubleOf(value) === undefined ? INT : types.DOUBLE;
}
