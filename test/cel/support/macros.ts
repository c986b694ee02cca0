/** The macros, and the pieces of syntax that no table of functions has: how to write one that makes a type. */
import { type Type, types } from '../../../src/cel/index.ts';
import type { Generation } from './generate.ts';
import { paths } from './objects.ts';

const { BOOL, DOUBLE, INT, isOptional, list, map, optional, parameterOf, STRING, UINT } = types;

export interface Macro {
  readonly name: string;
  makes(wanted: Type): boolean;
  write(generation: Generation, wanted: Type, depth: number): string;
  /** Returns the type of the result, if not every type is possible. */
  result?(generation: Generation): Type;
}

const isBool = (wanted: Type) => wanted.kind === 'bool';
const isList = (wanted: Type) => wanted.kind === 'list';
const isMap = (wanted: Type) => wanted.kind === 'map';
const aBool = () => BOOL;
const aList = (generation: Generation) => list(generation.scalar());
const aMap = (generation: Generation) => map(generation.key(), generation.scalar());
const anOptional = (generation: Generation) => optional(generation.scalar());

/** Returns a list or map to loop over, and the types of its elements and keys. */
function range(generation: Generation, depth: number): { source: string; of: Type; key: Type; value: Type } {
  if (generation.choices.chance(25)) {
    const of = map(generation.key(), generation.scalar());
    return { source: generation.make(of, depth), of, key: parameterOf(of, 0), value: parameterOf(of, 1) };
  }
  const of = list(generation.scalar());
  return { source: generation.make(of, depth), of, key: INT, value: parameterOf(of, 0) };
}

function test1(name: string): Macro {
  return {
    name,
    makes: isBool,
    result: aBool,
    write(generation, _wanted, depth) {
      const { source, of, key, value } = range(generation, depth);
      const variable = generation.variable();
      const type = of.kind === 'map' ? key : value;
      return `${source}.${name}(${variable}, ${generation.within([{ name: variable, type, source }], BOOL, depth)})`;
    },
  };
}

function test2(name: string): Macro {
  return {
    name: `${name}/2`,
    makes: isBool,
    result: aBool,
    write(generation, _wanted, depth) {
      const { source, key, value } = range(generation, depth);
      const scope = [
        { name: 'k', type: key, source },
        { name: 'v', type: value, source },
      ];
      return `${source}.${name}(k, v, ${generation.within(scope, BOOL, depth)})`;
    },
  };
}

/** Returns `map(x, e)`, `map(x, p, e)`, `transformList(k, v, e)` and others, with or without a filter. */
function transform(name: string, twoVariables: boolean, filtered: boolean): Macro {
  const isTransformList = name === 'map' || name === 'transformList';
  return {
    name: `${name}${filtered ? '/filter' : ''}`,
    makes: isTransformList ? isList : isMap,
    result: isTransformList ? aList : aMap,
    write(generation, wanted, depth) {
      const { source, of, key, value } = range(generation, depth);
      const scope = twoVariables
        ? [
            { name: 'k', type: key, source },
            { name: 'v', type: value, source },
          ]
        : [{ name: 'x', type: of.kind === 'map' ? key : value, source }];
      const into = parameterOf(wanted, isTransformList ? 0 : 1);
      const filter = filtered ? `${generation.within(scope, BOOL, depth - 1)}, ` : '';
      const names = scope.map((each) => each.name).join(', ');
      return `${source}.${name}(${names}, ${filter}${generation.within(scope, into, depth)})`;
    },
  };
}

/** The keys of transformMap are those of its range. */
function transformMap(filtered: boolean): Macro {
  const plain = transform('transformMap', true, filtered);
  return {
    ...plain,
    write(generation, wanted, depth) {
      const value = generation.scalar();
      const source = generation.make(map(parameterOf(wanted, 0), value), depth);
      const scope = [
        { name: 'k', type: parameterOf(wanted, 0), source },
        { name: 'v', type: value, source },
      ];
      const filter = filtered ? `${generation.within(scope, BOOL, depth - 1)}, ` : '';
      return `${source}.transformMap(k, v, ${filter}${generation.within(scope, parameterOf(wanted, 1), depth)})`;
    },
  };
}

function transformMapEntry(filtered: boolean): Macro {
  return {
    ...transform('transformMapEntry', true, filtered),
    write(generation, wanted, depth) {
      const [key, value] = [parameterOf(wanted, 0), parameterOf(wanted, 1)];
      // Duplicate keys are an error, so the keys are taken from distinct values.
      const source = generation.make(map(key, value), depth);
      const scope = [
        { name: 'k', type: key, source },
        { name: 'v', type: value, source },
      ];
      const filter = filtered ? `${generation.within(scope, BOOL, depth - 1)}, ` : '';
      return `${source}.transformMapEntry(k, v, ${filter}{k: ${generation.within(scope, value, depth)}})`;
    },
  };
}

const optionalMacro = (name: string): Macro => ({
  name,
  makes: isOptional,
  result: anOptional,
  write(generation, wanted, depth) {
    const from = generation.scalar();
    const body = name === 'optMap' ? parameterOf(wanted, 0) : wanted;
    const source = generation.make(optional(from), depth);
    const inner = generation.within([{ name: 'o', type: from, source }], body, depth);
    return `${source}.${name}(o, ${inner})`;
  },
});

/** Fields of type dyn: a missing field of `request` would be a type error. */
const fields = paths.filter(([path]) => !path.endsWith(']') && !/^(request|namespace)/.test(path));

const shared: readonly Macro[] = [
  {
    name: 'has',
    makes: isBool,
    result: aBool,
    write(generation) {
      const [path] = generation.choices.pick(fields);
      return `has(${generation.choices.chance(25) ? `${path.slice(0, path.lastIndexOf('.'))}.missing` : path})`;
    },
  },
  test1('all'),
  test1('exists'),
  test1('exists_one'),
  test2('all'),
  test2('exists'),
  test2('exists_one'),
  test2('existsOne'),
  {
    name: 'filter',
    makes: isList,
    result: aList,
    write(generation, wanted, depth) {
      const source = generation.make(wanted, depth);
      const scope = [{ name: 'x', type: parameterOf(wanted, 0), source }];
      return `${source}.filter(x, ${generation.within(scope, BOOL, depth)})`;
    },
  },
  transform('map', false, false),
  transform('map', false, true),
  transform('transformList', true, false),
  transform('transformList', true, true),
  transformMap(false),
  transformMap(true),
  transformMapEntry(false),
  transformMapEntry(true),
  {
    name: 'sortBy',
    makes: isList,
    result: aList,
    write(generation, wanted, depth) {
      const source = generation.make(wanted, depth);
      const scope = [{ name: 'x', type: parameterOf(wanted, 0), source }];
      const by = generation.choices.pick([INT, STRING, BOOL, UINT]);
      return `${source}.sortBy(x, ${generation.within(scope, by, depth)})`;
    },
  },
  optionalMacro('optMap'),
  optionalMacro('optFlatMap'),
  {
    name: '{?k: v}',
    makes: isMap,
    result: aMap,
    write(generation, wanted, depth) {
      const present = generation.make(optional(parameterOf(wanted, 1)), depth);
      return `{?${generation.simple(parameterOf(wanted, 0), 0)}: ${present}}`;
    },
  },
  {
    name: '[?x]',
    makes: isList,
    result: aList,
    write(generation, wanted, depth) {
      return `[?${generation.make(optional(parameterOf(wanted, 0)), depth)}]`;
    },
  },
  {
    name: '.?chain',
    makes: (wanted) => wanted.kind === 'string' || wanted.kind === 'int',
    result: (generation) => generation.choices.pick([STRING, INT]),
    write(generation, wanted, depth) {
      const [path] = generation.choices.pick(fields.filter(([, type]) => type.kind === wanted.kind));
      const optionalPath = path.replace(/\.(?=[a-z]+)/i, generation.choices.chance(20) ? '.?missing.?' : '.?');
      return `${optionalPath}.orValue(${generation.make(wanted, depth)})`;
    },
  },
];

/** The macros of native policies, including those of mutations. */
export const kubernetesMacros: readonly Macro[] = [
  ...shared,
  {
    name: 'Object{}',
    makes: () => false,
    result: aBool,
    write(generation, _wanted, depth) {
      const { choices } = generation;
      const spec = `Object.spec{replicas: ${generation.make(INT, depth)}, ?paused: ${generation.make(optional(BOOL), depth)}}`;
      return choices.chance(50)
        ? `Object{spec: ${spec}}`
        : `Object{spec: ${spec}, metadata: Object.metadata{name: ${generation.make(STRING, depth)}}}`;
    },
  },
  {
    name: 'JSONPatch{}',
    makes: () => false,
    result: aBool,
    write(generation, _wanted, depth) {
      const value = generation.choices.chance(70) ? `, value: ${generation.make(generation.anyType(), depth)}` : '';
      return `JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey(${generation.make(STRING, depth)})${value}}`;
    },
  },
];

/** The macros of the newest cel-go. */
export const latestMacros: readonly Macro[] = [
  ...shared,
  {
    name: 'cel.bind',
    makes: (wanted) => wanted.kind !== 'opaque',
    write(generation, wanted, depth) {
      const type = generation.scalar();
      const source = generation.make(type, depth);
      return `cel.bind(bound, ${source}, ${generation.within([{ name: 'bound', type, source }], wanted, depth)})`;
    },
  },
  ...['least', 'greatest'].map(
    (name): Macro => ({
      name: `math.${name}`,
      makes: (wanted) => wanted.kind === 'int' || wanted.kind === 'double',
      result: (generation) => generation.choices.pick([INT, DOUBLE]),
      write(generation, wanted, depth) {
        const parts = generation.choices.several(1, 3, () => generation.make(wanted, depth));
        return `math.${name}(${parts.join(', ')})`;
      },
    }),
  ),
];
