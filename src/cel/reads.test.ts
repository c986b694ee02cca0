import { expect, test } from 'vitest';
import { environment } from './environments.ts';
import { parse } from './parse/parser.ts';
import { reads } from './reads.ts';

const { macros, language } = environment('extended');

test.each([
  { reason: 'fields', text: 'object.spec.replicas <= params.max', reads: ['object.spec.replicas', 'params.max'] },
  { reason: 'the whole', text: 'object == oldObject', reads: ['object', 'oldObject'] },
  { reason: 'has()', text: 'has(request.userInfo.extra)', reads: ['request.userInfo.extra'] },
  { reason: 'an index by name', text: "object['metadata'].name", reads: ['object.metadata.name'] },
  { reason: 'an index that is computed', text: 'object.a[params.key].b', reads: ['params.key', 'object.a.*.b'] },
  { reason: 'optional chains', text: "object.?spec[?'a'].orValue(1)", reads: ['object.spec.a'] },
  { reason: 'a method', text: "object.metadata.name.startsWith('a')", reads: ['object.metadata.name'] },
  {
    reason: 'loops',
    text: 'object.list.all(x, x.name == params.name)',
    reads: ['object.list', 'object.list.*.name', 'params.name'],
  },
  {
    reason: 'loops of two variables',
    text: 'object.map.all(k, v, v.size == k)',
    reads: ['object.map', 'object.map.*.size'],
  },
  { reason: 'a loop over what is made', text: '[1].all(object, object.x == 1)', reads: [] },
  { reason: 'a name that shadows', text: '[oldObject].exists(object, object.a)', reads: ['oldObject'] },
  {
    reason: 'bindings',
    text: 'cel.bind(u, request.userInfo, u.name)',
    reads: ['request.userInfo', 'request.userInfo.name'],
  },
  { reason: 'what a function gives', text: 'f(object.a).b[params.c]', reads: ['object.a', 'params.c'] },
])('reads $reason', ({ text, reads: expected }) => {
  const { ast } = parse(text, { macros, ...language });
  if (ast === undefined) throw new Error('it does not parse');
  expect(reads(ast).map(({ variable, path }) => [variable, ...path].join('.'))).toEqual(expected);
});
