/**
 * Generates random expressions that are well-typed enough for most to yield a value, over the functions and macros of
 * the Kubernetes environment. The oracle supplies their table, so a missing function is detected.
 */
import fc from 'fast-check';
import { type Type, types } from '../../../src/cel/index.ts';
import type { WireDeclaration } from '../../support/cel-oracle.ts';
import { Choices } from './choices.ts';
import { argument, leaf, quote } from './literals.ts';
import { kubernetesMacros, type Macro } from './macros.ts';
import { paths, type Variables, variables } from './objects.ts';
import { write } from './write.ts';

const {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  list,
  map,
  NULL,
  optional,
  parameterOf,
  STRING,
  sameType,
  TIMESTAMP,
  UINT,
} = types;

export interface Case {
  readonly expression: string;
  readonly variables: Variables;
  /** The functions and macros in it, once per use. */
  readonly uses: readonly string[];
}

interface Overload {
  readonly name: string;
  readonly member: boolean;
  readonly parameters: readonly Type[];
  readonly result: Type;
}

/** Names from syntax and macros, which cannot be written. */
const unwritable = /^(@|cel\.@|__|_in_$|in$)/;

export function generator(
  declarations: readonly WireDeclaration[],
  macros: readonly Macro[] = kubernetesMacros,
): {
  arbitrary: fc.Arbitrary<Case>;
  /** The names of all functions and macros that must occur. */
  subjects: readonly string[];
} {
  const functions = new Map<string, readonly Overload[]>();
  for (const { name, overloads = [] } of declarations) {
    if (unwritable.test(name) && name !== '@in') continue;
    functions.set(
      name,
      overloads.map((each) => ({ ...each, name })),
    );
  }
  const subjects = [...functions.keys(), ...macros.map(({ name }) => name)];
  const arbitrary = fc
    .array(fc.nat(2 ** 30), { minLength: 60, maxLength: 400, size: 'max' })
    .map((tape) => new Generation(new Choices(tape), functions, macros).case(subjects));
  return { arbitrary, subjects };
}

const scalars = [INT, STRING, BOOL, DOUBLE, UINT, BYTES, TIMESTAMP, DURATION];
const keys = [STRING, INT, BOOL, UINT];

interface Variable {
  readonly name: string;
  readonly type: Type;
  /** The source of its values, which determines the static type. */
  readonly source: string;
}

/** Reports whether the checker infers dyn for (a part of) the expression. */
const isDynamic = (expression: string) => /\b(object|oldObject|params)\b|\bdyn\(|flatten|getQuery/.test(expression);

/** One run of the generator: the functions used, and the loop variables in scope. */
export class Generation {
  readonly choices: Choices;
  readonly #functions: ReadonlyMap<string, readonly Overload[]>;
  readonly #macros: readonly Macro[];
  readonly #uses: string[] = [];
  #scope: readonly Variable[] = [];
  /** Whether it is inside a list or map literal, where Kubernetes requires one static type for all elements. */
  #homogeneous = false;

  constructor(choices: Choices, functions: ReadonlyMap<string, readonly Overload[]>, macros: readonly Macro[]) {
    this.choices = choices;
    this.#functions = functions;
    this.#macros = macros;
  }

  /** Combines one to six subjects, so that each occurs often. */
  case(subjects: readonly string[]): Case {
    const about = this.choices.several(1, 6, () => this.about(this.choices.pick(subjects)));
    const expression =
      about.length === 1 ? (about[0] as string) : `[${about.map((each) => `dyn(${each})`).join(', ')}]`;
    return { expression, variables: variables(this.choices), uses: this.#uses };
  }

  /** Returns an expression with the function or macro `subject` at its root. */
  about(subject: string): string {
    const overloads = this.#functions.get(subject);
    if (overloads !== undefined) return this.call(this.choices.pick(overloads), new Map(), 2);
    const macro = this.#macros.find(({ name }) => name === subject) as Macro;
    return this.expand(macro, macro.result?.(this) ?? this.anyType(), 2);
  }

  /** Returns an expression of type `wanted`, at most `depth` calls deep. */
  make(wanted: Type, depth: number): string {
    if (wanted.kind === 'dyn') return this.make(this.anyType(), depth);
    const { choices } = this;
    if (depth <= 0 || choices.isExhausted || choices.chance(35)) return this.simple(wanted, depth);
    if (choices.chance(25)) {
      const fitting = this.#macros.filter((macro) => macro.makes(wanted));
      if (fitting.length > 0) return this.expand(choices.pick(fitting), wanted, depth);
    }
    const fitting = this.#overloadsFor(wanted);
    if (fitting.length === 0) return this.simple(wanted, depth);
    const [overload, bound] = choices.pick(fitting);
    return this.call(overload, bound, depth);
  }

  call(overload: Overload, bound: Map<string, Type>, depth: number): string {
    this.#uses.push(overload.name);
    if (overload.name === 'format') return this.#format(depth);
    const parts = overload.parameters.map((parameter, position) => {
      const type = this.#bind(parameter, bound, overload.name);
      if (overload.name === '_?._') return this.make(map(STRING, this.scalar()), depth - 1);
      if (
        overload.name.startsWith('_[') &&
        position === 1 &&
        overload.parameters[0]?.kind !== 'list' &&
        this.choices.chance(75)
      )
        return this.#distinctKey(type, 0);
      return argument(this.choices, overload.name, position, type) ?? this.make(type, depth - 1);
    });
    return write(overload.name, overload.member, parts);
  }

  expand(macro: Macro, wanted: Type, depth: number): string {
    this.#uses.push(macro.name);
    return macro.write(this, wanted, depth - 1);
  }

  /** Like `make`, with loop variables in scope. */
  within(variables: readonly Variable[], wanted: Type, depth: number): string {
    const outer = this.#scope;
    this.#scope = [...outer, ...variables];
    const body = this.make(wanted, depth);
    this.#scope = outer;
    return body;
  }

  /** Returns a name for a loop variable; occasionally one that shadows another. */
  variable(): string {
    return this.choices.pick(['x', 'y', 'z', `v${this.#scope.length}`, 'object_', 'i']);
  }

  /**
   * Returns an expression without calls: a literal, a loop variable, a field of an object, or a list or map of those.
   */
  simple(wanted: Type, depth: number): string {
    const { choices } = this;
    const visible = this.#scope.filter(
      ({ name, type, source }, index) =>
        sameType(type, wanted) &&
        !(this.#homogeneous && isDynamic(source)) &&
        !this.#scope.slice(index + 1).some((later) => later.name === name),
    );
    if (visible.length > 0 && choices.chance(70)) return (choices.pick(visible) as Variable).name;
    const places = paths.filter(([path, type]) => sameType(type, wanted) && !(this.#homogeneous && isDynamic(path)));
    if (places.length > 0 && choices.chance(35)) return (choices.pick(places) as readonly [string, Type])[0];
    const made = leaf(choices, wanted);
    if (made !== undefined) return made;
    return this.#aggregate(wanted, depth);
  }

  anyType(): Type {
    const { choices } = this;
    switch (choices.below(12)) {
      case 8:
        return list(choices.pick(scalars));
      case 9:
        return map(choices.pick(keys), choices.pick(scalars));
      case 10:
        return optional(choices.pick(scalars));
      case 11:
        return choices.pick([NULL, list(list(INT)), map(STRING, list(STRING))]);
      default:
        return choices.pick(scalars);
    }
  }

  key(): Type {
    return this.choices.pick(keys);
  }

  scalar(): Type {
    return this.choices.pick(scalars);
  }

  /** Returns a literal list or map. All its elements have one static type, or all are wrapped in dyn(). */
  #aggregate(wanted: Type, depth: number): string {
    const { choices } = this;
    if (wanted.kind === 'opaque') {
      return choices.chance(12) ? 'optional.none()' : `optional.of(${this.make(parameterOf(wanted, 0), depth - 1)})`;
    }
    const outer = this.#homogeneous;
    const wrapped = !outer && choices.chance(12);
    this.#homogeneous = !wrapped;
    const element = (of: Type) => {
      const made = this.make(of, depth - 1);
      return wrapped ? `dyn(${made})` : made;
    };
    const count = choices.chance(8) ? 0 : choices.pick([1, 2, 3]);
    const parts = Array.from({ length: count }, (_, index) => {
      const isOptional = choices.chance(6);
      if (isOptional) this.#uses.push(wanted.kind === 'list' ? '[?x]' : '{?k: v}');
      const of = parameterOf(wanted, wanted.kind === 'list' ? 0 : 1);
      const value = isOptional ? `optional.of(${element(of)})` : element(of);
      if (wanted.kind === 'list') return `${isOptional ? '?' : ''}${value}`;
      return `${isOptional ? '?' : ''}${this.#distinctKey(parameterOf(wanted, 0), index)}: ${value}`;
    });
    this.#homogeneous = outer;
    return wanted.kind === 'list' ? `[${parts.join(', ')}]` : `{${parts.join(', ')}}`;
  }

  /** A duplicate key is an error, so keys usually differ. */
  #distinctKey(of: Type, index: number): string {
    switch (of.kind) {
      case 'string':
        return this.choices.chance(5) ? quote(this.choices, 'a') : `'${'abcdef'[index] ?? 'z'}'`;
      case 'bool':
        return ['true', 'false'][index] ?? '(1 > 2)';
      default:
        return `${index}${of.kind === 'uint' ? 'u' : ''}`;
    }
  }

  /** The clauses of a format must match its arguments, which no table of types expresses. */
  #format(depth: number): string {
    const clauses = this.choices.several(0, 3, () => this.#clause(depth));
    const text = clauses.map(([clause]) => `a${clause}`).join(' ');
    return `'${text}'.format([${clauses.map(([, value]) => value).join(', ')}])`;
  }

  #clause(depth: number): readonly [string, string] {
    const { choices } = this;
    const [clauses, types] = choices.pick([
      [['%s'], [STRING, INT, BOOL, DOUBLE, UINT, BYTES, TIMESTAMP, DURATION, NULL, list(INT), map(STRING, INT)]],
      [['%d'], [INT, UINT]],
      [
        ['%x', '%X'],
        [INT, UINT, STRING, BYTES],
      ],
      [
        ['%o', '%b'],
        [INT, UINT],
      ],
      [['%f', '%.2f', '%.0f', '%e', '%.3e'], [DOUBLE]],
      [['%%', '%', '%q'], [INT]],
    ] as const);
    const clause = choices.pick<string>(clauses);
    return [clause, `dyn(${this.make(choices.pick<Type>(types), depth - 1)})`];
  }

  /** Returns the overloads that can return `wanted`, with the bindings of their type parameters. */
  #overloadsFor(wanted: Type): (readonly [Overload, Map<string, Type>])[] {
    const fitting: (readonly [Overload, Map<string, Type>])[] = [];
    for (const overloads of this.#functions.values()) {
      for (const overload of overloads) {
        const bound = new Map<string, Type>();
        if (matches(overload.result, wanted, bound)) fitting.push([overload, bound]);
      }
    }
    return fitting;
  }

  /** Returns `pattern` with its parameters replaced; an unbound parameter is chosen now. */
  #bind(pattern: Type, bound: Map<string, Type>, name: string): Type {
    if (pattern.kind === 'parameter') {
      const known = bound.get(pattern.name);
      if (known !== undefined) return known;
      const isKey = name === '@in' || (name.startsWith('_[') && pattern.name !== 'V');
      const chosen = isKey ? this.key() : this.anyType();
      bound.set(pattern.name, chosen);
      return chosen;
    }
    if (pattern.parameters.length === 0) return pattern;
    const parameters = pattern.parameters.map((each, index) => {
      // K of map(K, V) must be a key type.
      if (pattern.kind === 'map' && index === 0 && each.kind === 'parameter' && !bound.has(each.name))
        bound.set(each.name, this.key());
      return this.#bind(each, bound, name);
    });
    return { ...pattern, parameters };
  }
}

/** Reports whether `pattern` can be `wanted`; binds the type parameters. */
function matches(pattern: Type, wanted: Type, bound: Map<string, Type>): boolean {
  if (pattern.kind === 'parameter') {
    const known = bound.get(pattern.name);
    if (known !== undefined) return sameType(known, wanted);
    bound.set(pattern.name, wanted);
    return true;
  }
  if (pattern.kind === 'dyn') return false;
  if (pattern.kind !== wanted.kind || pattern.name !== wanted.name) return false;
  return pattern.parameters.every((each, index) => matches(each, parameterOf(wanted, index), bound));
}
