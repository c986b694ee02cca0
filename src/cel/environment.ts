/** The environment of an expression: variables, functions, types, macros and language options. */
import type { CallValidator, FunctionDeclaration, Library, Macro, Overload } from './declarations.ts';
import { macroTable } from './parse/macros.ts';
import { DYN, list, parameterOf, runtimeName, sameType, type Type, type, union } from './types.ts';
import { type CelError, type JsonMap, TypeValue, type Value } from './values.ts';

/** A type with fields, from a schema or constructible by an expression. */
export interface ObjectType {
  readonly name: string;
  /** Returns the type of a field, or undefined if there is no such field. */
  field(name: string): Type | undefined;
  /** Returns the known field names, for "did you mean" hints. */
  fieldNames(): Iterable<string>;
  /** Whether `Name{…}` constructs the type. */
  readonly constructible: boolean;
  /** Constructs a value from checked fields; a StructValue by default. */
  construct?(fields: JsonMap): Value | CelError;
}

/** `TypeProvider` finds object types by name. */
export type TypeProvider = (name: string) => ObjectType | undefined;

export interface LanguageOptions {
  /** Whether `[1, 'a']` is a type error unless wrapped in dyn(), as in Kubernetes. */
  readonly homogeneousLiterals: boolean;
  readonly optionalSyntax: boolean;
  readonly escapedFields: boolean;
  /** Whether a duplicate key in a map literal is an error; in cel-go the last one wins. */
  readonly uniqueKeys: boolean;
  /** Whether presence tests and `.?` on values without fields are errors; otherwise the field is absent. */
  readonly strictPresence: boolean;
  /**
   * Whether any value may be compared with null, and a number with a number of another type. Types from schemas do not
   * declare where JSON holds null, and expressions on plain JSON compare numbers by value.
   */
  readonly looseEquality: boolean;
  readonly container: string;
}

interface EnvironmentOptions {
  readonly name: string;
  readonly libraries: readonly Library[];
  readonly macros: readonly Macro[];
  readonly variables?: Readonly<Record<string, Type>>;
  readonly types?: readonly TypeProvider[];
  readonly language?: Partial<LanguageOptions>;
}

export class Environment {
  readonly name: string;
  readonly language: LanguageOptions;
  readonly macros: ReadonlyMap<string, readonly Macro[]>;
  readonly functions: ReadonlyMap<string, readonly Overload[]>;
  readonly variables: ReadonlyMap<string, Type>;
  /** Names of types that may be used as values: `int`, `net.IP`. */
  readonly typeNames: ReadonlyMap<string, Type>;
  readonly validators: readonly CallValidator[];
  readonly #options: EnvironmentOptions;

  /** `tables` is an environment with the same libraries and macros, whose lookup tables are reused. */
  constructor(options: EnvironmentOptions, tables?: Environment) {
    this.#options = options;
    this.name = options.name;
    this.language = {
      homogeneousLiterals: false,
      optionalSyntax: true,
      escapedFields: false,
      uniqueKeys: false,
      strictPresence: false,
      looseEquality: false,
      container: '',
      ...options.language,
    };
    this.macros =
      tables?.macros ??
      macroTable([...options.macros, ...options.libraries.flatMap((library) => library.macros ?? [])]);
    this.functions =
      tables?.functions ?? functionTable(options.libraries.flatMap((library) => library.functions ?? []));
    this.validators = tables?.validators ?? options.libraries.flatMap((library) => library.validators ?? []);
    this.variables = new Map(Object.entries(options.variables ?? {}));
    this.typeNames =
      tables?.typeNames ??
      new Map(options.libraries.flatMap((library) => library.types ?? []).map((each) => [runtimeName(each), each]));
  }

  /** `extend` returns this environment with additional variables, types and libraries. */
  extend(more: {
    variables?: Readonly<Record<string, Type>>;
    types?: readonly TypeProvider[];
    libraries?: readonly Library[];
    language?: Partial<LanguageOptions>;
  }): Environment {
    const options = this.#options;
    const extended = {
      ...options,
      variables: { ...options.variables, ...more.variables },
      types: [...(more.types ?? []), ...(options.types ?? [])],
      libraries: [...options.libraries, ...(more.libraries ?? [])],
      language: { ...options.language, ...more.language },
    };
    return new Environment(extended, more.libraries === undefined ? this : undefined);
  }

  objectType(name: string): ObjectType | undefined {
    if (name.includes('|')) return this.#either(name);
    for (const provider of this.#options.types ?? []) {
      const found = provider(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns a type with the fields of several types; `union` defines its name. */
  #either(name: string): ObjectType | undefined {
    const parts = name.split('|').flatMap((each) => this.objectType(each) ?? []);
    return {
      name,
      constructible: false,
      field: (field) => {
        const found = parts.flatMap((part) => part.field(field) ?? []);
        return found.length === 0 ? undefined : found.reduce(either);
      },
      fieldNames: () => new Set(parts.flatMap((part) => [...part.fieldNames()])),
    };
  }

  /** `identifier` resolves a name outside of loops: the type of a variable, or the type of a type. */
  identifier(name: string): { type: Type; value?: TypeValue } | undefined {
    const variable = this.variables.get(name);
    if (variable !== undefined) return { type: variable };
    const named = this.typeNames.get(name);
    if (named !== undefined) return { type: type(named), value: new TypeValue(runtimeName(named)) };
    const object = this.objectType(name);
    // Types of a schema have no name in the language: `object.spec` must not resolve to one.
    if (object?.constructible !== true) return undefined;
    return { type: type({ kind: 'object', name: object.name, parameters: [] }), value: new TypeValue(object.name) };
  }

  /** Returns the names that `name` may refer to inside the container, innermost first. */
  candidates(name: string): readonly string[] {
    if (name.startsWith('.')) return [name.slice(1)];
    const container = this.language.container;
    if (container === '') return [name];
    const parts = container.split('.');
    return [...parts.map((_, index) => `${parts.slice(0, parts.length - index).join('.')}.${name}`), name];
  }
}

function either(left: Type, right: Type): Type {
  if (sameType(left, right)) return left;
  if (left.record === true && right.record === true) return union(left, right);
  if (left.kind === 'list' && right.kind === 'list') return list(either(parameterOf(left, 0), parameterOf(right, 0)));
  return DYN;
}

function functionTable(declarations: readonly FunctionDeclaration[]): ReadonlyMap<string, readonly Overload[]> {
  const table = new Map<string, Overload[]>();
  for (const declaration of declarations) {
    const known = table.get(declaration.name) ?? [];
    for (const overload of declaration.overloads) {
      const index = known.findIndex((each) => each.id === overload.id);
      // A later declaration of the same overload replaces the earlier one, so a host can override it.
      if (index >= 0) known[index] = overload;
      else known.push(overload);
    }
    table.set(declaration.name, known);
  }
  return table;
}
