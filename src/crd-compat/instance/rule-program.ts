/**
 * CEL rules as programs, with the types of the schema they stand at. A rule is compiled once for one place of a schema, whoever asks:
 * definitions share the places that did not change between them.
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

/** How often a program will run: code is generated for one that runs for thousands of objects, and would not pay for a few. */
export type Runs = 'few' | 'many';

export interface RulePlace {
  readonly types: SchemaTypes;
  /** The rule itself, or another expression over self and oldSelf. */
  program(expression: string, optionalOldSelf: boolean, runs: Runs): Compiled | Rejected;
}

const PLACES = { resource: new WeakMap<CrdSchema, Place>(), inside: new WeakMap<CrdSchema, Place>() };

/** `resource`: values are whole resources, whose metadata rules may read whether the schema names it or not. */
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
    // What stands in allOf says nothing about types.
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

const PARSED = new Map<string, Parsed>();
/** The same rules stand in many places, and in each version. */
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

/** Whether a program looks at what was there before. */
export const usesOldSelf = ({ program }: Compiled): boolean => program.variables.includes('oldSelf');
