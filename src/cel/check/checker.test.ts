import { describe, expect, test } from 'vitest';
import { compile } from '../compile.ts';
import { environment } from '../environments.ts';
import * as types from '../types.ts';
import { DYN, INT, STRING, typeName } from '../types.ts';

const kubernetes = environment('kubernetes-1.36', {
  variables: { object: DYN, name: STRING, count: INT, names: types.list(STRING) },
});

describe('check', () => {
  test.each([
    { reason: 'literals have their types', source: '[1, 2]', type: 'list(int)' },
    { reason: 'dyn makes a result dyn', source: 'object.a.b', type: 'dyn' },
    { reason: 'a map gives its values', source: '{"a": 1}.a', type: 'int' },
    { reason: 'loops know the element', source: 'names.map(n, n.size())', type: 'list(int)' },
    { reason: 'two variables are index and element', source: 'names.transformMap(i, n, i)', type: 'map(int, int)' },
    { reason: 'optionals wrap', source: 'object.?a', type: 'optional_type(dyn)' },
    { reason: 'orValue unwraps', source: '{"a": 1}.?a.orValue(2)', type: 'int' },
    { reason: 'an open parameter closes to dyn', source: '[]', type: 'list(dyn)' },
    { reason: 'types have a type', source: 'type(1)', type: 'type(int)' },
    { reason: 'one overload fits', source: 'count + 1', type: 'int' },
    { reason: 'several overloads with different results are dyn', source: 'object.a + object.b', type: 'dyn' },
    { reason: 'numbers compare across types', source: '1 < 2.0', type: 'bool' },
    { reason: 'a constructed object has its name', source: 'Object{spec: Object.spec{}}', type: 'Object' },
  ])('$reason: $source is $type', ({ source, type }) => {
    const compiled = compile(source, kubernetes);
    expect(compiled.issues).toEqual([]);
    expect(compiled.evaluate && typeName(compiled.type)).toBe(type);
  });

  test.each([
    {
      reason: 'unknown names',
      source: 'objekt.a',
      code: 'undeclared_reference',
      column: 1,
      says: "did you mean 'object'",
    },
    {
      reason: 'unknown functions',
      source: 'name.startWith("a")',
      code: 'undeclared_reference',
      column: 15,
      says: 'startsWith',
    },
    {
      reason: 'arguments that do not fit',
      source: 'name + 1',
      code: 'no_such_overload',
      column: 6,
      says: '(string, int)',
    },
    { reason: 'fields of a scalar', source: 'name.size', code: 'type_mismatch', column: 5, says: 'field selection' },
    { reason: 'conditions that are no bool', source: 'count && true', code: 'type_mismatch', column: 1, says: 'bool' },
    { reason: 'mixed lists', source: '[1, "a"]', code: 'type_mismatch', column: 5, says: 'int' },
    {
      reason: 'loops over what is no range',
      source: 'count.all(x, true)',
      code: 'type_mismatch',
      column: 1,
      says: 'range',
    },
    {
      reason: 'durations that are none',
      source: 'duration("x")',
      code: 'invalid_literal',
      column: 10,
      says: 'duration',
    },
    {
      reason: 'patterns that are none',
      source: 'name.matches("(")',
      code: 'invalid_literal',
      column: 14,
      says: 'matches',
    },
    {
      reason: 'constants that cannot be converted',
      source: 'true || int("x") == 1',
      code: 'invalid_literal',
      column: 12,
      says: 'int',
    },
    {
      reason: 'types that do not exist',
      source: 'Nothing{}',
      code: 'undeclared_reference',
      column: 8,
      says: 'Nothing',
    },
    {
      reason: 'fields JSONPatch has not',
      source: 'JSONPatch{oop: "add"}',
      code: 'no_such_field',
      column: 11,
      says: "did you mean 'op'",
    },
    { reason: 'mixed through dyn', source: '[dyn(1), 2]', code: 'type_mismatch', column: 10, says: 'dyn' },
  ])('refuses $reason: $source', ({ source, code, column, says }) => {
    const { issues } = compile(source, kubernetes);
    expect(issues[0]).toMatchObject({ code, column, line: 1 });
    expect(issues[0]?.message).toContain(says);
  });

  test('reports every error, with its line and a caret', () => {
    const rejected = compile('objekt.a == 1 &&\n  name + 1 == name', kubernetes);
    expect(rejected.issues.map(({ line, column }) => [line, column])).toEqual([
      [1, 1],
      [2, 8],
    ]);
    expect(rejected.evaluate === undefined && rejected.message).toContain(' | .......^');
  });

  test('accepts in the extended environment what Kubernetes rejects', () => {
    const extended = environment('extended');
    expect(compile('[1, "a"]', extended).issues).toEqual([]);
    expect(compile('cel.bind(x, 1, x + x)', extended).issues).toEqual([]);
    expect(compile('cel.bind(x, 1, x + x)', kubernetes).issues).not.toEqual([]);
  });
});
