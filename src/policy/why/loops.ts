/** Finds the element that decided a loop, and its path. */
import { type Call, type Comprehension, type Expr, isMap, mapEntries, type Value } from '../../cel/index.ts';
import type { Inspector, Local, Locals } from './inspector.ts';
import { NO_LOCALS } from './inspector.ts';
import { below, type Place } from './place.ts';

export interface Loop {
  readonly macro: 'all' | 'exists' | 'exists_one';
  readonly range: Expr;
  readonly predicate: Expr;
  /** The iterations with their variables. */
  readonly turns: readonly Locals[];
  /** Whether `turns` contains all iterations. */
  readonly whole: boolean;
}

/** The maximum number of iterations that are inspected, unless the caller counts them. */
const MAX_TURNS = 500;

/** `loopOf` returns a loop with a predicate on its elements; undefined for a loop that builds a value. */
export function loopOf(
  inspector: Inspector,
  node: Comprehension,
  locals: Locals,
  maxTurns = MAX_TURNS,
): Loop | undefined {
  const written = node.macro;
  if (written?.target === undefined || !Object.hasOwn(MACROS, written.function)) return undefined;
  const range = written.target;
  const predicate = written.args.at(-1) as Expr;
  const names = written.args.slice(0, -1).flatMap((each) => (each.kind === 'identifier' ? [each.name] : []));
  if (names.length !== written.args.length - 1) return undefined;
  // One element more than the limit shows whether there are more.
  const turns = turnsOf(inspector, range, names, locals, maxTurns + 1);
  return {
    macro: MACROS[written.function] as Loop['macro'],
    range,
    predicate,
    turns: turns.slice(0, maxTurns),
    whole: turns.length <= maxTurns,
  };
}

const MACROS: Readonly<Record<string, Loop['macro']>> = {
  all: 'all',
  exists: 'exists',
  exists_one: 'exists_one',
  existsOne: 'exists_one',
};

function turnsOf(
  inspector: Inspector,
  range: Expr,
  names: readonly string[],
  locals: Locals,
  maxTurns = MAX_TURNS,
): readonly Locals[] {
  const over = inspector.value(range, locals);
  const origin = inspector.originOf(range, locals);
  const [first = '', second] = names;
  const turn = (key: Value, element: Value, place: Place | undefined): Locals => {
    const ofElement: Local = { value: element, place, origin };
    // The key of a map is part of the data too.
    const ofKey: Local = { value: key, place: undefined, origin };
    const own: [string, Local][] =
      second === undefined
        ? [[first, ofElement]]
        : [
            [first, ofKey],
            [second, ofElement],
          ];
    return new Map([...locals, ...own]);
  };
  if (Array.isArray(over)) {
    const values = over as readonly Value[];
    const places = elementPlaces(inspector, range, locals, values.length);
    return values.slice(0, maxTurns).map((element, index) => turn(index, element, places(index)));
  }
  if (over === undefined || !isMap(over)) return [];
  const place = inspector.place(range, locals);
  const entries = [...mapEntries(over)].slice(0, maxTurns);
  return entries.map(([key, element]) => {
    const here = place === undefined || typeof key !== 'string' ? undefined : below(place, key);
    // A loop with one variable over a map iterates over its keys; the path is that of the entry.
    return second === undefined ? turn(key, key, here) : turn(key, element, here);
  });
}

type Places = (index: number) => Place | undefined;

const NOWHERE: Places = () => undefined;

/** Finds the paths of list elements through `+`, `filter`, `map`, `?:`, optionals and variables. */
function elementPlaces(inspector: Inspector, range: Expr, locals: Locals, length: number): Places {
  const place = inspector.place(range, locals);
  if (place !== undefined) return (index) => below(place, index);
  const variable = inspector.variable(range, locals);
  if (variable !== undefined) return elementPlaces(variable, variable.unit.compiled.ast, NO_LOCALS, length);
  if (range.kind === 'call') return computedPlaces(inspector, range, locals, length);
  if (range.kind === 'comprehension' && range.macro?.target !== undefined) {
    return madePlaces(inspector, range.macro as Call & { target: Expr }, locals);
  }
  return NOWHERE;
}

function computedPlaces(inspector: Inspector, node: Call, locals: Locals, length: number): Places {
  const [first, second, third] = node.args as [Expr, Expr, Expr];
  if (node.function === '_+_') {
    const left = inspector.value(first, locals);
    if (!Array.isArray(left)) return NOWHERE;
    const before = elementPlaces(inspector, first, locals, left.length);
    const after = elementPlaces(inspector, second, locals, length - left.length);
    return (index) => (index < left.length ? before(index) : after(index - left.length));
  }
  if (node.function === '_?_:_') {
    const chosen = inspector.value(first, locals);
    return typeof chosen === 'boolean' ? elementPlaces(inspector, chosen ? second : third, locals, length) : NOWHERE;
  }
  return NOWHERE;
}

/** `filter` keeps the paths of elements; `map(x, x.field)` extends them by one step. */
function madePlaces(inspector: Inspector, written: Call & { readonly target: Expr }, locals: Locals): Places {
  const [variable, body] = written.args as [Expr, Expr];
  if (variable?.kind !== 'identifier' || written.args.length !== 2) return NOWHERE;
  const turns = turnsOf(inspector, written.target, [variable.name], locals);
  if (written.function === 'map') {
    return (index) => {
      const turn = turns[index];
      return turn === undefined ? undefined : inspector.place(body, turn);
    };
  }
  if (written.function !== 'filter') return NOWHERE;
  const kept = turns.filter((turn) => inspector.value(body, turn) === true);
  return (index) => kept[index]?.get(variable.name)?.place;
}
