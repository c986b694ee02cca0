/** Whether what came in is as the schema of its route says. What is wrong is named by its place; what was sent is not repeated. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { type FieldError, invalid } from './problems.ts';
import type { Route } from './route.ts';
import { type JsonSchema, schemas } from './schemas.ts';

interface RouteCheck {
  /** Throws a Problem (400). Returns the query with numbers as numbers. */
  readonly params: (given: unknown) => void;
  readonly query: (given: unknown) => Readonly<Record<string, unknown>>;
  readonly body: (given: unknown) => void;
}

const mostErrors = 20;
const options = { strict: false, allErrors: true, validateFormats: false, unicodeRegExp: true } as const;
const exact = new Ajv2020(options);
/** Everything in an address is text. */
const lenient = new Ajv2020({ ...options, coerceTypes: true });

export function routeCheck({ params = {}, query = {}, body }: Route): RouteCheck {
  const checkParams = whenNeeded(() => exact.compile(closed(params, Object.keys(params))));
  const checkQuery = whenNeeded(() => lenient.compile(closed(query, [])));
  const checkBody =
    body === undefined ? undefined : whenNeeded(() => exact.compile({ ...body.schema, components: { schemas } }));
  return {
    params: (given) => demand(checkParams(), { ...(given as object) }, 'the parameter '),
    query(given) {
      const values = { ...(given as object) };
      demand(checkQuery(), values, 'the parameter ');
      return values;
    },
    body(given) {
      if (checkBody === undefined) {
        if (given !== undefined && given !== null) throw invalid([{ path: '', message: 'the body must be empty' }]);
        return;
      }
      if (given === undefined || given === null) {
        if (body?.required === true) throw invalid([{ path: '', message: 'the body is missing: send JSON' }]);
        return;
      }
      demand(checkBody(), given, '');
    },
  };
}

/** To compile them all takes a second, and most are never asked for. */
function whenNeeded(compile: () => ValidateFunction): () => ValidateFunction {
  let compiled: ValidateFunction | undefined;
  return () => {
    compiled ??= compile();
    return compiled;
  };
}

const closed = (properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

function demand(check: ValidateFunction, value: unknown, what: string): void {
  if (check(value)) return;
  const errors = (check.errors ?? []).slice(0, mostErrors).map((error) => fieldError(error, what));
  throw invalid(
    errors.filter(
      ({ path, message }, at) => errors.findIndex((each) => each.path === path && each.message === message) === at,
    ),
  );
}

function fieldError({ keyword, instancePath, params, message = 'is wrong' }: ErrorObject, what: string): FieldError {
  const at = (name: unknown): string =>
    what === ''
      ? `${instancePath}/${String(name).slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`
      : String(name).slice(0, 64);
  const path = what === '' ? instancePath : instancePath.replace(/^\//, '');
  switch (keyword) {
    case 'required':
      return { path: at(params.missingProperty), message: 'is missing' };
    case 'additionalProperties':
      return { path: at(params.additionalProperty), message: 'is not known here' };
    case 'enum':
      return { path, message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` };
    case 'uniqueItems':
      return { path, message: 'has something twice' };
    default:
      return { path, message };
  }
}
