/**
 * Variables that are expressions themselves: `variables.images` of a policy, computed when an expression first reads
 * it and kept for the next one.
 *
 *     const types: Record<string, Type> = {};
 *     const definitions = new Map<string, Evaluate>();
 *     for (const { name, text } of policy.variables) {
 *       // Each sees those before it.
 *       const compiled = compile(text, withComposed(base, types));
 *       types[name] = composedType(compiled.evaluate === undefined ? undefined : compiled.type);
 *       if (compiled.evaluate !== undefined) definitions.set(name, compiled.evaluate);
 *     }
 *     const rule = compile("variables.images.all(i, i.startsWith('registry/'))", withComposed(base, types));
 *     // Once a request: the record that every expression of the policy is evaluated with.
 *     const inputs = compose(definitions, { object, request }, budget);
 *     rule.evaluate(inputs, budget);
 *
 * Costs are Kubernetes' own: reading `variables.x` is a selection like any other; what x itself costs has the limit of
 * an expression and is charged to the budget once, by the evaluation that reads it first. An evaluation that has
 * brought the budget over its limit this way ends in `cost_exceeded`, whatever its own value was.
 */
import type { Environment, ObjectType } from './environment.ts';
import { markClean, withMore } from './host.ts';
import type { Budget, Evaluate } from './run/evaluate.ts';
import type { Variables } from './run/frame.ts';
import type { Type } from './types.ts';
import * as types from './types.ts';
import { CelError, HostObject, NonValue, type Result, TypeValue } from './values.ts';

/** The name of the variable that holds the composed variables as fields, and of its type. */
const COMPOSED = 'variables';
const TYPE_NAME = 'kubernetes.variables';

/** `withComposed` adds `variables` with these fields to `environment`. */
export function withComposed(environment: Environment, fields: Readonly<Record<string, Type>>): Environment {
  const known = new Map(Object.entries(fields));
  const type: ObjectType = {
    name: TYPE_NAME,
    constructible: false,
    field: (name) => known.get(name),
    fieldNames: () => known.keys(),
  };
  return environment.extend({
    variables: { [COMPOSED]: types.object(TYPE_NAME) },
    types: [(name) => (name === TYPE_NAME ? type : undefined)],
  });
}

/**
 * `composedType` returns the type under which other expressions see a variable; undefined stands for one that does not
 * compile.
 */
export function composedType(type: Type | undefined): Type {
  switch (type?.kind) {
    case 'bool':
    case 'bytes':
    case 'double':
    case 'duration':
    case 'int':
    case 'null':
    case 'string':
    case 'timestamp':
    case 'uint':
      return type;
    case 'list':
      return types.list(composedType(type.parameters[0]));
    case 'map':
      return types.map(composedType(type.parameters[0]), composedType(type.parameters[1]));
    default:
      return types.DYN;
  }
}

/**
 * `compose` returns `inputs` and `variables` for one decision. The definitions are evaluated with the same record, so a
 * variable may read another; `budget` is shared with the expressions that read the variables.
 */
export function compose(
  definitions: ReadonlyMap<string, Evaluate>,
  inputs: Variables,
  budget?: Budget,
): Variables & { readonly [COMPOSED]: ComposedVariables } {
  const variables = new ComposedVariables(definitions, budget);
  const made = withMore(inputs, { [COMPOSED]: variables });
  variables.inputs = made;
  return made as Variables & { readonly [COMPOSED]: ComposedVariables };
}

export class ComposedVariables extends HostObject {
  override readonly type = VARIABLES_TYPE;
  readonly #definitions: ReadonlyMap<string, Evaluate>;
  readonly #budget: Budget | undefined;
  readonly #known = new Map<string, Result>();
  /** The variables that the definitions are evaluated with. */
  inputs: Variables = {};

  constructor(definitions: ReadonlyMap<string, Evaluate>, budget: Budget | undefined) {
    super();
    this.#definitions = definitions;
    this.#budget = budget;
    markClean(this);
  }

  override field(name: string): Result | undefined {
    let value = this.#known.get(name);
    if (value === undefined) {
      const evaluate = this.#definitions.get(name);
      if (evaluate === undefined) return undefined;
      // Only a host could make a variable read itself: for the checker, a variable sees only those declared before it.
      this.#known.set(name, new CelError('host', 'it reads itself'));
      value = evaluate(this.inputs, this.#budget);
      this.#known.set(name, value);
    }
    // Each reader gets its own error with its own position.
    return value instanceof CelError ? failed(name, value) : value;
  }

  /** Reports whether the variable is defined and has a value; this computes it, as in Kubernetes. */
  override has(name: string): boolean | NonValue {
    const value = this.field(name);
    return value instanceof NonValue ? value : value !== undefined;
  }

  /** Returns the values computed so far, for an explanation. */
  known(): ReadonlyMap<string, Result> {
    return this.#known;
  }

  override toString(): string {
    return COMPOSED;
  }
}

const VARIABLES_TYPE = new TypeValue(TYPE_NAME);

function failed(name: string, cause: CelError): CelError {
  const error = new CelError(cause.code, `composited variable "${name}" fails to evaluate: ${cause.message}`);
  error.cause = cause;
  return error;
}
