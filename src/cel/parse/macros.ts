/** The macros of the language: has, loops with one and two variables, macros for optionals, and cel.bind. */
import type { Call, Expr } from '../ast.ts';
import type { Macro, MacroBuilder } from '../declarations.ts';
import type { Builder } from './builder.ts';

type Expand = Macro['expand'];

const member = (name: string, count: number, expand: Expand): Macro => ({
  name,
  member: true,
  arguments: count,
  expand,
});

const has: Macro = {
  name: 'has',
  member: false,
  arguments: 1,
  expand(builder, _target, [argument]) {
    if (argument?.kind === 'select' && !argument.test) return builder.select(argument.operand, argument.field, true);
    return argument === undefined ? undefined : builder.error(argument, 'invalid argument to has() macro');
  },
};

/** Returns the loop variables named by the first `count` arguments, or undefined after reporting an error. */
function loopVariables(builder: MacroBuilder, args: readonly Expr[], count: number): string[] | undefined {
  const names: string[] = [];
  for (const argument of args.slice(0, count)) {
    if (argument.kind !== 'identifier' || argument.name.startsWith('.')) {
      builder.error(argument, 'argument must be a simple name');
      return undefined;
    }
    if (names.includes(argument.name)) {
      builder.error(argument, `duplicate variable name: ${argument.name}`);
      return undefined;
    }
    if (argument.name === builder.accumulator || argument.name === '__result__') {
      builder.error(argument, 'iteration variable overwrites accumulator variable');
      return undefined;
    }
    names.push(argument.name);
  }
  return names;
}

interface Fold {
  readonly initial: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** Returns a loop macro with `count` variables; `fold` gets the remaining arguments. */
function loop(
  count: number,
  fold: (builder: MacroBuilder, rest: readonly Expr[], args: readonly Expr[]) => Fold,
): Expand {
  return (builder, target, args) => {
    if (target === undefined) return undefined;
    const names = loopVariables(builder, args, count);
    if (names === undefined) return builder.literal(null);
    const [variable, variable2] = names as [string, string?];
    const parts = { range: target, variable, ...fold(builder, args.slice(count), args) };
    return builder.comprehension(variable2 === undefined ? parts : { ...parts, variable2 });
  };
}

const accumulator = (builder: MacroBuilder): Expr => builder.identifier(builder.accumulator);

const all = (builder: MacroBuilder, [predicate]: readonly Expr[]): Fold => ({
  initial: builder.literal(true),
  condition: builder.call('@not_strictly_false', accumulator(builder)),
  step: builder.call('_&&_', accumulator(builder), predicate as Expr),
  result: accumulator(builder),
});

const exists = (builder: MacroBuilder, [predicate]: readonly Expr[]): Fold => ({
  initial: builder.literal(false),
  condition: builder.call('@not_strictly_false', builder.call('!_', accumulator(builder))),
  step: builder.call('_||_', accumulator(builder), predicate as Expr),
  result: accumulator(builder),
});

const existsOne = (builder: MacroBuilder, [predicate]: readonly Expr[]): Fold => ({
  initial: builder.literal(0),
  condition: builder.literal(true),
  step: builder.call(
    '_?_:_',
    predicate as Expr,
    builder.call('_+_', accumulator(builder), builder.literal(1)),
    accumulator(builder),
  ),
  result: builder.call('_==_', accumulator(builder), builder.literal(1)),
});

/** Builds `accumulator = filter ? step : accumulator`. */
const filtered = (builder: MacroBuilder, filter: Expr | undefined, step: Expr): Expr =>
  filter === undefined ? step : builder.call('_?_:_', filter, step, accumulator(builder));

const collect = (builder: MacroBuilder, element: Expr): Expr =>
  builder.call('_+_', accumulator(builder), builder.list(element));

function transform(builder: MacroBuilder, rest: readonly Expr[], initial: Expr, step: (value: Expr) => Expr): Fold {
  const [filter, value] = rest.length === 2 ? [rest[0], rest[1]] : [undefined, rest[0]];
  return {
    initial,
    condition: builder.literal(true),
    step: filtered(builder, filter, step(value as Expr)),
    result: accumulator(builder),
  };
}

const toList = (builder: MacroBuilder, rest: readonly Expr[]): Fold =>
  transform(builder, rest, builder.list(), (value) => collect(builder, value));

const filter = (builder: MacroBuilder, rest: readonly Expr[], args: readonly Expr[]): Fold =>
  transform(builder, [rest[0] as Expr, args[0] as Expr], builder.list(), (value) => collect(builder, value));

const toMap = (builder: MacroBuilder, rest: readonly Expr[], args: readonly Expr[]): Fold =>
  transform(builder, rest, builder.map(), (value) => {
    const key = args[0] as Expr & { kind: 'identifier' };
    return builder.call('cel.@mapInsert', accumulator(builder), builder.identifier(key.name), value);
  });

const toMapEntry = (builder: MacroBuilder, rest: readonly Expr[]): Fold =>
  transform(builder, rest, builder.map(), (value) => builder.call('cel.@mapInsert', accumulator(builder), value));

export const STANDARD_MACROS: readonly Macro[] = [
  has,
  member('all', 2, loop(1, all)),
  member('exists', 2, loop(1, exists)),
  member('exists_one', 2, loop(1, existsOne)),
  member('existsOne', 2, loop(1, existsOne)),
  member('map', 2, loop(1, toList)),
  member('map', 3, loop(1, toList)),
  member('filter', 2, loop(1, filter)),
];

export const TWO_VARIABLE_MACROS: readonly Macro[] = [
  member('all', 3, loop(2, all)),
  member('exists', 3, loop(2, exists)),
  member('existsOne', 3, loop(2, existsOne)),
  member('exists_one', 3, loop(2, existsOne)),
  member('transformList', 3, loop(2, toList)),
  member('transformList', 4, loop(2, toList)),
  member('transformMap', 3, loop(2, toMap)),
  member('transformMap', 4, loop(2, toMap)),
  member('transformMapEntry', 3, loop(2, toMapEntry)),
  member('transformMapEntry', 4, loop(2, toMapEntry)),
];

/** Binds a variable with a fold over an empty list: its value is computed on first use in the body. */
function bind(builder: MacroBuilder, name: string, value: Expr, body: Expr): Expr {
  return builder.comprehension({
    range: builder.list(),
    variable: '#unused',
    accumulator: name,
    initial: value,
    condition: builder.literal(false),
    step: builder.identifier(name),
    result: body,
  });
}

function optionalMap(name: string, wrap: (builder: MacroBuilder, body: Expr) => Expr): Macro {
  return member(name, 2, (builder, target, [variable, body]) => {
    if (target === undefined || variable === undefined || body === undefined) return undefined;
    if (variable.kind !== 'identifier') {
      return builder.error(variable, `${name}() variable name must be a simple identifier`);
    }
    return builder.call(
      '_?_:_',
      builder.memberCall('hasValue', target),
      wrap(builder, bind(builder, variable.name, builder.memberCall('value', builder.copy(target)), body)),
      builder.call('optional.none'),
    );
  });
}

export const OPTIONAL_MACROS: readonly Macro[] = [
  optionalMap('optMap', (builder, body) => builder.call('optional.of', body)),
  optionalMap('optFlatMap', (_builder, body) => body),
];

export const BIND_MACROS: readonly Macro[] = [
  {
    name: 'bind',
    member: true,
    arguments: 3,
    expand(builder, target, [variable, value, body]) {
      if (target?.kind !== 'identifier' || target.name !== 'cel' || body === undefined) return undefined;
      if (variable === undefined || value === undefined) return undefined;
      if (variable.kind !== 'identifier') {
        return builder.error(variable, 'cel.bind() variable names must be simple identifiers');
      }
      return bind(builder, variable.name, value, body);
    },
  },
];

const isCel = (target: Expr | undefined): boolean => target?.kind === 'identifier' && target.name === 'cel';

/** Returns the value of a literal int argument. */
const literalInt = (node: Expr | undefined): number | undefined =>
  node?.kind === 'literal' && typeof node.value === 'number' ? node.value : undefined;

const blockName = (prefix: string, count: number): Macro['expand'] => {
  return (builder, target, args) => {
    const numbers = args.map(literalInt);
    if (!isCel(target) || numbers.length !== count || numbers.includes(undefined)) return undefined;
    return builder.identifier(`@${prefix}:${numbers.join(':')}`);
  };
};

/**
 * The macro `cel.block([a, b], body)` defines sub-expressions that the body and later ones reference with
 * `cel.index(n)`.
 */
export const BLOCK_MACROS: readonly Macro[] = [
  member('index', 1, blockName('index', 1)),
  member('iterVar', 2, blockName('it', 2)),
  member('accuVar', 2, blockName('ac', 2)),
  member('block', 2, (builder, target, [list, body]) => {
    if (!isCel(target) || list?.kind !== 'list' || body === undefined) return undefined;
    return list.elements.reduceRight((inner, element, index) => bind(builder, `@index:${index}`, element, inner), body);
  }),
];

export function macroTable(macros: readonly Macro[]): ReadonlyMap<string, readonly Macro[]> {
  const table = new Map<string, Macro[]>();
  for (const macro of macros) {
    const known = table.get(macro.name);
    if (known === undefined) table.set(macro.name, [macro]);
    else known.push(macro);
  }
  return table;
}

/** `expandMacro` returns the expansion of a macro call, or the call itself. */
export function expandMacro(call: Call, macros: ReadonlyMap<string, readonly Macro[]>, builder: Builder): Expr {
  for (const macro of macros.get(call.function) ?? []) {
    if (macro.member !== (call.target !== undefined)) continue;
    if (macro.arguments !== undefined && macro.arguments !== call.args.length) continue;
    const expanded = builder.at(call, (nodes) => macro.expand(nodes, call.target, call.args, call));
    if (expanded !== undefined) return { ...expanded, macro: call };
  }
  return call;
}
