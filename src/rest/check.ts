/** Validates a request against the schemas of its route. Errors name the field and never repeat its value. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { type FieldError, invalid } from './problems.ts';
import type { Route } from './route.ts';
import { type JsonSchema, schemas } from './schemas.ts';

interface RouteCheck {
  /** Each function throws a Problem (400). `query` returns the parameters with numbers converted. */
  readonly params: (given: unknown) => void;
  readonly query: (given: unknown) => Readonly<Record<string, unknown>>;
  readonly body: (given: unknown) => void;
}

const mostErrors = 20;
const options = { strict: false, allErrors: true, validateFormats: false, unicodeRegExp: true } as const;
const exact = new Ajv2020(options);
/** Path and query parameters arrive as strings. */
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

/** Delays compilation: compiling every schema takes a second, and most are never used. */
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

function fieldError({ keyword, instancePath, params, message = 'is invalid' }: ErrorObject, what: string): FieldError {
  const at = (name: unknown): string =>
    what === ''
      ? `${instancePath}/${String(name).slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`
      : String(name).slice(0, 64);
  const path = what === '' ? instancePath : instancePath.replace(/^\//, '');
  switch (keyword) {
    case 'required':
      return { path: at(params.missingProperty), message: 'is missing' };
    case 'additionalProperties':
      return { path: at(params.additionalProperty), message: 'is not a known field' };
    case 'enum':
      return { path, message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` };
    case 'uniqueItems':
      return { path, message: 'must not contain duplicates' };
    default:
      return { path, message };
  }
}
