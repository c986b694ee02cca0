/**
 * Type assignability and unification of type parameters. The rules are those of cel-go: dyn is assignable to
 * everything, null to nullable types, and a parameter binds to the first type it meets and widens to a more general
 * one.
 */
import { DYN, isOptional, list, map, opaque, parameterOf, STRING, sameType, type Type, type, union } from '../types.ts';

export class Unifier {
  readonly #bound = new Map<string, Type>();
  /** Previous bindings, newest last: a failed attempt is undone without copying all bindings. */
  readonly #trail: [string, Type | undefined][] = [];
  #fresh = 0;

  /** Returns a type parameter that no other type has. */
  fresh(): Type {
    return { kind: 'parameter', name: `_var${this.#fresh++}`, parameters: [] };
  }

  /** Reports whether a value of type `from` is assignable to `to`; binds parameters if so. */
  assignable(from: Type, to: Type): boolean {
    return this.#attempt(() => this.#assignable(from, to));
  }

  assignableAll(from: readonly Type[], to: readonly Type[]): boolean {
    return this.#attempt(() => this.#assignableAll(from, to));
  }

  /** Returns `of` with its bound parameters replaced; unbound parameters become dyn if `close` is set. */
  substitute(of: Type, close: boolean): Type {
    if (of.kind === 'parameter') {
      const bound = this.#bound.get(of.name);
      if (bound !== undefined) return this.substitute(bound, close);
      return close ? DYN : of;
    }
    if (of.parameters.length === 0 || of.kind === 'wrapper') return of;
    return rebuild(of, (each) => this.substitute(each, close));
  }

  /** Returns the types with fresh parameters, so that two calls do not share any. */
  instantiate(types: readonly Type[]): readonly Type[] {
    if (!types.some(hasParameter)) return types;
    const fresh = new Map<string, Type>();
    const replace = (each: Type): Type => {
      if (each.kind === 'parameter') {
        const known = fresh.get(each.name) ?? this.fresh();
        fresh.set(each.name, known);
        return known;
      }
      return each.parameters.length === 0 ? each : rebuild(each, replace);
    };
    return types.map(replace);
  }

  #attempt(step: () => boolean): boolean {
    const mark = this.#trail.length;
    if (step()) return true;
    while (this.#trail.length > mark) {
      const [name, previous] = this.#trail.pop() as [string, Type | undefined];
      if (previous === undefined) this.#bound.delete(name);
      else this.#bound.set(name, previous);
    }
    return false;
  }

  #bind(name: string, to: Type): void {
    this.#trail.push([name, this.#bound.get(name)]);
    this.#bound.set(name, to);
  }

  #assignable(from: Type, to: Type): boolean {
    if (to.kind === 'parameter') {
      const { valid, bound } = this.#substitutes(from, to);
      if (valid) return true;
      if (bound) return false;
    }
    if (from.kind === 'parameter') return this.#substitutes(to, from).valid;
    if (isDynOrError(from) || isDynOrError(to)) return true;
    if (from.kind === 'null') return nullable(to);
    if (to.kind === 'null') return nullable(from);
    if (from.record === true || to.record === true) return this.#recordFits(from, to);
    switch (from.kind) {
      case 'type':
        return to.kind === 'type';
      case 'opaque':
      case 'list':
      case 'map':
        return from.kind === to.kind && from.name === to.name && this.#assignableAll(from.parameters, to.parameters);
      default:
        return sameType(unwrap(from), unwrap(to));
    }
  }

  /** Records are JSON objects: a record is assignable to any other record and to any map with string keys. */
  #recordFits(from: Type, to: Type): boolean {
    if (from.record === true && to.record === true) return true;
    const [one, other] = from.record === true ? [from, to] : [to, from];
    if (other.kind === 'map') return this.#assignableAll([STRING, DYN], other.parameters);
    return sameType(one, other);
  }

  #assignableAll(from: readonly Type[], to: readonly Type[]): boolean {
    if (from.length !== to.length) return false;
    return from.every((each, index) => this.#assignable(each, parameterAt(to, index)));
  }

  /** Reports whether parameter `to` may be bound to `from`, and whether it was already bound. */
  #substitutes(from: Type, to: Type): { valid: boolean; bound: boolean } {
    if (sameType(from, to)) return { valid: true, bound: true };
    const current = this.#bound.get(to.name);
    if (current !== undefined) {
      if (sameType(from, current)) return { valid: true, bound: true };
      if (!this.#assignable(from, current)) return { valid: false, bound: true };
      const general = mostGeneral(from, current);
      if (!this.#occurs(to, general)) this.#bind(to.name, general);
      return { valid: true, bound: true };
    }
    if (this.#occurs(to, from)) return { valid: false, bound: false };
    this.#bind(to.name, from);
    return { valid: true, bound: false };
  }

  #occurs(sought: Type, within: Type): boolean {
    if (sameType(sought, within)) return true;
    if (within.kind === 'parameter') {
      const bound = this.#bound.get(within.name);
      return bound !== undefined && this.#occurs(sought, bound);
    }
    return within.parameters.some((each) => this.#occurs(sought, each));
  }
}

export const isDyn = (of: Type): boolean => of.kind === 'dyn';
export const isDynOrError = (of: Type): boolean => of.kind === 'dyn' || of.kind === 'error';

/** `unwrapOptional` returns the type inside an optional, or the type itself. */
export const unwrapOptional = (of: Type): Type => (isOptional(of) ? parameterOf(of, 0) : of);

/** `mostGeneral` returns the more general of two types that are assignable to each other. */
export function mostGeneral(left: Type, right: Type): Type {
  if (left.record === true && right.record === true) return sameType(left, right) ? left : union(left, right);
  if (left.kind === right.kind && (left.kind === 'list' || left.kind === 'map') && hasRecord(left)) {
    const joined = left.parameters.map((each, index) => mostGeneral(each, parameterOf(right, index)));
    return { ...left, parameters: joined };
  }
  return equalOrLessSpecific(left, right) ? left : right;
}

function equalOrLessSpecific(left: Type, right: Type): boolean {
  if (left.kind === 'dyn' || left.kind === 'parameter') return true;
  if (right.kind === 'dyn' || right.kind === 'parameter') return false;
  const a = unwrap(left);
  const b = unwrap(right);
  if (a.kind !== b.kind) return false;
  switch (a.kind) {
    case 'opaque':
    case 'list':
    case 'map':
      if (a.name !== b.name || a.parameters.length !== b.parameters.length) return false;
      return a.parameters.every((each, index) => equalOrLessSpecific(each, parameterAt(b.parameters, index)));
    case 'type':
      return true;
    default:
      return sameType(a, b);
  }
}

function nullable(of: Type): boolean {
  switch (of.kind) {
    case 'null':
    case 'wrapper':
    case 'opaque':
    case 'object':
    case 'duration':
    case 'timestamp':
      return true;
    default:
      return false;
  }
}

const unwrap = (of: Type): Type => (of.kind === 'wrapper' ? parameterOf(of, 0) : of);

const parameterAt = (types: readonly Type[], index: number): Type => types[index] ?? DYN;

const hasRecord = (of: Type): boolean => of.record === true || of.parameters.some(hasRecord);

const hasParameter = (of: Type): boolean => of.kind === 'parameter' || of.parameters.some(hasParameter);

function rebuild(of: Type, replace: (each: Type) => Type): Type {
  const parameters = of.parameters.map(replace);
  switch (of.kind) {
    case 'list':
      return list(parameterAt(parameters, 0));
    case 'map':
      return map(parameterAt(parameters, 0), parameterAt(parameters, 1));
    case 'type':
      return type(parameterAt(parameters, 0));
    case 'opaque':
      return opaque(of.name, ...parameters);
    default:
      return of;
  }
}
