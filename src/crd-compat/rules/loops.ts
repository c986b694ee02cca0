/** The macros that iterate over a list or a map, and the relations between their elements. */
import type { Comprehension, Expr } from '../../cel/index.ts';
import { escapeProperty } from '../../cel/internal.ts';
import { ALWAYS, any, type Element, type Formula, type Range, relation } from './formula.ts';
import { elementOf, presenceOf } from './place.ts';
import type { Scope } from './terms.ts';

export interface Loop {
  readonly node: Comprehension;
  readonly body: Expr;
}

interface Quantifier extends Loop {
  readonly isAll: boolean;
}

/** Matches `exists_one` with one variable, whose body is the condition of a conditional expression. */
export function counting(node: Expr): Loop | undefined {
  if (node.kind !== 'comprehension' || node.variable2 !== undefined || node.step.kind !== 'call') return undefined;
  const body = node.step.args[0];
  const name = node.macro?.function;
  if ((name !== 'exists_one' && name !== 'existsOne') || node.step.function !== '_?_:_' || body === undefined)
    return undefined;
  return { node, body };
}

/** The formula for two different elements of a list of type map: they differ in one of its keys. */
export function distinct({ place }: Range, first: Element, second: Element): Formula {
  const schema = place?.before;
  const keys = schema?.['x-kubernetes-list-map-keys'] ?? [];
  const element = place === undefined ? undefined : elementOf(place);
  if (schema?.['x-kubernetes-list-type'] !== 'map' || keys.length === 0 || element === undefined) return ALWAYS;
  const names = keys.map((each) => escapeProperty(each) ?? each);
  if (names.some((name) => presenceOf(element, name) !== 'always')) return ALWAYS;
  return any(...names.map((name) => relation(`${first.key}.${name}`, `${second.key}.${name}`, [-1, 1])));
}

/** Matches `all` and `exists` with one variable. */
export function quantifier(node: Expr): Quantifier | undefined {
  if (node.kind !== 'comprehension' || node.variable2 !== undefined || node.step.kind !== 'call') return undefined;
  const name = node.macro?.function;
  const body = node.step.args[1];
  if ((name !== 'all' && name !== 'exists') || body === undefined) return undefined;
  return { node, body, isAll: name === 'all' };
}

export const bind = (loop: Comprehension, element: Element, scope: Scope): Scope =>
  new Map(scope).set(loop.variable, element);
