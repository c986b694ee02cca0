/**
 * Compiles CEL rules with the types of their schema. A rule is compiled once per place of a schema; definitions share
 * the places that did not change between them.
 */
import {
  type Compiled,
  compile,
  type Environment,
  environment,
  type Parsed,
  parse,
  type Rejected,
  type SchemaTypes,
  types,
  typesFromSchema,
} from '../../cel/index.ts';
import type { CrdSchema } from '../schema.ts';
import { without } from './without.ts';

/**
 * How often a program will run. Code is generated for `many`, which pays off for thousands of objects and not for a
 * few.
 */
export type Runs = 'few' | 'many';

export interface RulePlace {
  readonly types: SchemaTypes;
  /** Compiles the rule, or another expression over self and oldSelf. */
  program(expression: string, optionalOldSelf: boolean, runs: Runs): Compiled | Rejected;
}

const PLACES = { resource: new WeakMap<CrdSchema, Place>(), inside: new WeakMap<CrdSchema, Place>() };

/**
 * `resource` says that values are whole resources, whose metadata rules can read even if the schema does not name it.
 */
export function rulePlace(schema: CrdSchema, resource: boolean): RulePlace {
  const places = PLACES[resource ? 'resource' : 'inside'];
  const known = places.get(schema) ?? new Place(schema, resource);
  places.set(schema, known);
  return known;
}

class Place implements RulePlace {
  readonly types: SchemaTypes;
  readonly #environments = new Map<boolean, Environment>();
  readonly #programs = new Map<string, Compiled | Rejected>();

  constructor(schema: CrdSchema, resource: boolean) {
    // allOf says nothing about types.
    this.types = typesFromSchema(without(schema, 'allOf'), { name: 'self', resource, unknownFields: 'hidden' });
  }

  program(expression: string, optionalOldSelf: boolean, runs: Runs): Compiled | Rejected {
    const key = `${runs} ${optionalOldSelf} ${expression}`;
    const known = this.#programs.get(key);
    if (known !== undefined) return known;
    const made = compile(expression, this.#environment(optionalOldSelf), {
      parsed: parsedRule(expression),
      backend: runs === 'few' ? 'closures' : 'auto',
    });
    this.#programs.set(key, made);
    return made;
  }

  #environment(optionalOldSelf: boolean): Environment {
    const { type: self, provider } = this.types;
    const known =
      this.#environments.get(optionalOldSelf) ??
      environment(PROFILE, {
        variables: { self, oldSelf: optionalOldSelf ? types.optional(self) : self },
        types: [provider],
      });
    this.#environments.set(optionalOldSelf, known);
    return known;
  }
}

const PROFILE = 'kubernetes-1.36';

/** A cache: a parsed rule depends on its text only. */
const PARSED = new Map<string, Parsed>();
/** The same rules occur in many places, and in each version. */
const MOST_PARSED = 500;

export function parsedRule(expression: string): Parsed {
  const known = PARSED.get(expression);
  if (known !== undefined) return known;
  const env = environment(PROFILE);
  const made = parse(expression, { macros: env.macros, ...env.language });
  if (PARSED.size >= MOST_PARSED) PARSED.clear();
  PARSED.set(expression, made);
  return made;
}

/** Whether a program reads oldSelf. */
export const usesOldSelf = ({ program }: Compiled): boolean => program.variables.includes('oldSelf');
