/** The two base environments: that of admission policies in Kubernetes 1.36, and one with all libraries. */
import type { Library } from './declarations.ts';
import { Environment, type LanguageOptions, type ObjectType, type TypeProvider } from './environment.ts';
import { constructMutation, extendedLibraries, kubernetesLibraries } from './library/index.ts';
import { BINDINGS, NEWEST_OPTIONAL_TYPES, OPTIONAL_TYPES, STANDARD, TWO_VARIABLES } from './standard/index.ts';
import { DYN, STRING, type Type } from './types.ts';

export type EnvironmentName = 'kubernetes-1.36' | 'extended';

export interface EnvironmentAdditions {
  /** Variables and their types. */
  readonly variables?: Readonly<Record<string, Type>>;
  /** Object types that variables or constructors refer to, for example from `typesFromSchema`. */
  readonly types?: readonly TypeProvider[];
  /** Additional functions. */
  readonly libraries?: readonly Library[];
  readonly language?: Partial<LanguageOptions>;
}

/**
 * `environment` returns one of the two base environments, extended with variables, types and functions.
 *
 *     const env = environment('kubernetes-1.36', { variables: { object: types.DYN, limit: types.INT } });
 *     compile('object.spec.replicas <= limit', env);
 */
export function environment(name: EnvironmentName, additions: EnvironmentAdditions = {}): Environment {
  const base = BASES.get(name) ?? makeBase(name);
  BASES.set(name, base);
  const plain = Object.keys(additions).length === 0;
  return plain ? base : base.extend(additions);
}

/** A cache: the base environments are immutable. */
const BASES = new Map<EnvironmentName, Environment>();

function makeBase(name: EnvironmentName): Environment {
  if (name === 'kubernetes-1.36') {
    return new Environment({
      name,
      libraries: [STANDARD, OPTIONAL_TYPES, TWO_VARIABLES, ...kubernetesLibraries],
      macros: [],
      types: [mutationTypes],
      language: { homogeneousLiterals: true },
    });
  }
  return new Environment({
    name,
    libraries: [STANDARD, OPTIONAL_TYPES, NEWEST_OPTIONAL_TYPES, TWO_VARIABLES, BINDINGS, ...extendedLibraries],
    macros: [],
    types: [mutationTypes],
    language: { escapedFields: true, uniqueKeys: true, strictPresence: true },
  });
}

/** The types that MutatingAdmissionPolicies construct: `Object`, `Object.spec.…` with any fields, and `JSONPatch`. */
const mutationTypes: TypeProvider = (name) => {
  if (name === 'JSONPatch') return JSON_PATCH;
  return name === 'Object' || name.startsWith('Object.') ? openObject(name) : undefined;
};

const PATCH_FIELDS: Readonly<Record<string, Type>> = { op: STRING, from: STRING, path: STRING, value: DYN };

const JSON_PATCH: ObjectType = {
  name: 'JSONPatch',
  constructible: true,
  field: (name) => (Object.hasOwn(PATCH_FIELDS, name) ? PATCH_FIELDS[name] : undefined),
  fieldNames: () => Object.keys(PATCH_FIELDS),
  construct: (fields) => constructMutation('JSONPatch', fields),
};

const openObject = (name: string): ObjectType => ({
  name,
  constructible: true,
  field: () => DYN,
  fieldNames: () => [],
});
