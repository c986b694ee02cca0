/** Describes a part of an expression and its value: `spec.replicas is 7`. */
import { CelError, type Expr, NonValue, Optional, type Result, show } from '../../cel/index.ts';
import type { Inspector, Locals } from './inspector.ts';
import type { Place } from './place.ts';
import { HIDDEN } from './sensitive.ts';

/** The maximum lengths of a value and of an expression, in characters. */
const MAX_VALUE = 80;
const MAX_NAME = 100;

export interface Described {
  /** The path in the object, or the expression itself. */
  readonly name: string;
  readonly place: Place | undefined;
  /** The value; undefined if it is not available. */
  readonly value: Result | undefined;
  /** The value as text, redacted if it is sensitive. */
  readonly shown: string;
}

export function describe(inspector: Inspector, node: Expr, locals: Locals): Described {
  const place = inspector.place(node, locals);
  const value = plainValue(inspector.value(node, locals));
  const name = place === undefined ? cut(inspector.text(node), MAX_NAME) : inspector.nameOf(place);
  return { name, place, value, shown: showValue(inspector, node, locals, value) };
}

function showValue(inspector: Inspector, node: Expr, locals: Locals, value: Result | undefined): string {
  if (inspector.hides(node, locals)) return HIDDEN;
  return value === undefined ? 'not known' : show(value, MAX_VALUE);
}

/** `isPhrase` returns `name is value`, or says that the value is absent. */
export function isPhrase({ name, value, shown }: Described): string {
  if (value instanceof CelError && isAbsence(value)) return `${name} is not set`;
  if (value instanceof NonValue) return `${name} cannot be computed`;
  return shown === name ? name : `${name} is ${shown}`;
}

export const isAbsence = (error: CelError): boolean =>
  error.code === 'no_such_key' || error.code === 'no_such_field' || error.code === 'index_out_of_bounds';

/** An empty optional counts as an absent value. */
function plainValue(value: Result | undefined): Result | undefined {
  if (!(value instanceof Optional)) return value;
  return value.value ?? new CelError('no_such_key', 'not set');
}

export function cut(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit - 1).toWellFormed()}…` : text;
}

/** Whether a sub-expression consists of literals only. */
export function isConstant(node: Expr): boolean {
  switch (node.kind) {
    case 'literal':
      return true;
    case 'list':
      return node.elements.every(isConstant);
    case 'call':
      return CONVERSIONS.has(node.function) && node.args.every(isConstant);
    default:
      return false;
  }
}

const CONVERSIONS = new Set([
  'quantity',
  'int',
  'double',
  'string',
  'duration',
  'timestamp',
  'ip',
  'cidr',
  'semver',
  'url',
  '-_',
]);
