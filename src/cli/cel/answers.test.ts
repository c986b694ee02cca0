import { describe, expect, test } from 'vitest';
import { runCel as run, withCelFiles } from '../../../test/support/cel-command.ts';
import { evaluateOne } from './run.ts';
import type { CelOptions } from './session.ts';

withCelFiles();

describe('the value of an expression', () => {
  const values: { reason: string; expression: string; options?: Partial<CelOptions>; input?: string; out: string }[] = [
    { reason: 'no data is required', expression: '1 + 1', out: '2' },
    { reason: 'false is a value like any other', expression: '1 > 2', out: 'false' },
    {
      reason: 'object is read from the file',
      expression: 'object.spec.replicas',
      options: { filename: 'widget.yaml' },
      out: '3',
    },
    { reason: 'or standard input', expression: 'object.a', options: { filename: '-' }, input: 'a: 5\n', out: '5' },
    {
      reason: 'an int64 keeps its digits',
      expression: 'object.spec.big',
      options: { filename: 'widget.yaml' },
      out: '9007199254740993',
    },
    {
      reason: 'integers beyond int64 are doubles',
      expression: 'object.spec.huge > 1.0',
      options: { filename: 'widget.yaml' },
      out: 'true',
    },
    {
      reason: '1.0 in JSON stays a double',
      expression: 'object.spec.ratio',
      options: { filename: 'widget.json' },
      out: '1.0',
    },
    {
      reason: 'YAML may start with a bracket',
      expression: 'object.spec.replicas',
      options: { filename: 'flow.yaml' },
      out: '7',
    },
    {
      reason: 'oldObject is read from --old',
      expression: 'object.spec.replicas - oldObject.spec.replicas',
      options: { filename: 'widget.yaml', old: 'old.yaml' },
      out: '1',
    },
    {
      reason: 'without --old, oldObject is null',
      expression: 'oldObject == null && params == null && namespaceObject == null',
      out: 'true',
    },
    {
      reason: 'an object without an old one is a CREATE',
      expression: 'request.operation + " " + request.kind.group + " " + request.namespace',
      options: { filename: 'widget.yaml' },
      out: '"CREATE example.com shop"',
    },
    {
      reason: 'an object with an old one is an UPDATE',
      expression: 'request.operation',
      options: { filename: 'widget.yaml', old: 'old.yaml' },
      out: '"UPDATE"',
    },
    {
      reason: 'an old object alone is a DELETE',
      expression: 'request.operation == "DELETE" && object == null',
      options: { old: 'old.yaml' },
      out: 'true',
    },
    {
      reason: 'a variable replaces the derived request',
      expression: 'request.operation',
      options: { filename: 'widget.yaml', var: { request: '{"operation":"CONNECT"}' } },
      out: '"CONNECT"',
    },
    { reason: 'params is a file too', expression: 'params.spec.replicas', options: { params: 'flow.yaml' }, out: '7' },
    { reason: 'variables are JSON', expression: 'limit * 2', options: { var: { limit: '21' } }, out: '42' },
    {
      reason: 'a schema converts strings to timestamps',
      expression: 'object.spec.when + duration("1h")',
      options: { filename: 'widget.yaml', schema: 'crd.yaml' },
      out: '"2024-01-02T04:04:05Z"',
    },
    {
      reason: 'a schema knows all metadata',
      expression: 'object.metadata.labels.tier',
      options: { filename: 'widget.yaml', schema: 'crd.yaml' },
      out: '"front"',
    },
    {
      reason: 'extended has more functions',
      expression: 'math.greatest(1, 2)',
      options: { environment: 'extended' },
      out: '2',
    },
    { reason: 'a duration is its text', expression: 'duration("90m")', out: '"5400s"' },
    { reason: 'bytes are base64', expression: 'b"ab"', out: '"YWI="' },
    { reason: 'a uint is a number', expression: '[18446744073709551615u]', out: '[18446744073709551615]' },
    {
      reason: 'doubles keep a fraction',
      expression: '[1.0, -0.0, 1.5, 1e17, 1e300]',
      out: '[1.0,-0.0,1.5,100000000000000000.0,1e+300]',
    },
    {
      reason: 'NaN and infinities are strings',
      expression: '[0.0 / 0.0, 1.0 / 0.0, -1.0 / 0.0]',
      out: '["NaN","Infinity","-Infinity"]',
    },
    { reason: 'keys become strings', expression: '{1: {true: 2u}}', out: '{"1":{"true":2}}' },
    { reason: 'optionals are their value or null', expression: '[optional.of(1), optional.none()]', out: '[1,null]' },
    { reason: 'types are their names', expression: 'type(1)', out: '"int"' },
    { reason: "a library's values are its text", expression: '[quantity("1Gi")]', out: '["1Gi"]' },
    {
      reason: 'constructed objects are their fields',
      expression: 'Object{spec: Object.spec{replicas: 1}}',
      out: '{"spec":{"replicas":1}}',
    },
    {
      reason: '-o json adds the type and the cost',
      expression: '2u + 1u',
      options: { output: 'json' },
      out: '{"value":3,"type":"uint","cost":1}',
    },
  ];
  test.each(values)('$reason: $expression', async ({ expression, options, input, out }) => {
    expect(await run(evaluateOne, expression, options, [input ?? ''])).toEqual({ code: 0, out: `${out}\n`, err: '' });
  });
});
