import { describe, expect, it } from 'vitest';
import { applyJsonPatch, type PatchStep } from './json-patch.ts';

const document = () => ({ a: 1, list: ['x', 'y'], map: { 'k/1': 'v', 'm~n': 'w' }, nothing: null });

describe('applyJsonPatch', () => {
  it.each<{ operations: PatchStep[]; is: object; reason: string }>([
    { operations: [{ op: 'add', path: '/b', value: 2 }], is: { b: 2 }, reason: 'a field' },
    { operations: [{ op: 'add', path: '/a', value: 2 }], is: { a: 2 }, reason: 'add replaces a field that is there' },
    { operations: [{ op: 'add', path: '/list/-', value: 'z' }], is: { list: ['x', 'y', 'z'] }, reason: 'at the end' },
    { operations: [{ op: 'add', path: '/list/2', value: 'z' }], is: { list: ['x', 'y', 'z'] }, reason: 'just behind' },
    { operations: [{ op: 'add', path: '/list/0', value: 'z' }], is: { list: ['z', 'x', 'y'] }, reason: 'in front' },
    { operations: [{ op: 'add', path: '/list/-1', value: 'z' }], is: { list: ['x', 'y', 'z'] }, reason: 'from behind' },
    { operations: [{ op: 'remove', path: '/list/0' }], is: { list: ['y'] }, reason: 'out of a list' },
    { operations: [{ op: 'remove', path: '/map/k~11' }], is: { map: { 'm~n': 'w' } }, reason: 'an escaped slash' },
    { operations: [{ op: 'remove', path: '/map/m~0n' }], is: { map: { 'k/1': 'v' } }, reason: 'an escaped tilde' },
    { operations: [{ op: 'replace', path: '/list/1', value: 'z' }], is: { list: ['x', 'z'] }, reason: 'an element' },
    { operations: [{ op: 'replace', path: '/new', value: 1 }], is: { new: 1 }, reason: 'as lenient as the server' },
    { operations: [{ op: 'move', path: '/b', from: '/a' }], is: { a: undefined, b: 1 }, reason: 'another name' },
    { operations: [{ op: 'copy', path: '/b', from: '/list' }], is: { b: ['x', 'y'] }, reason: 'twice' },
    { operations: [{ op: 'test', path: '/a', value: 1 }], is: {}, reason: 'a test that holds' },
    { operations: [{ op: 'test', path: '/none' }], is: {}, reason: 'nothing is there, and nothing is wanted' },
    { operations: [{ op: 'test', path: '/nothing', value: null }], is: {}, reason: 'null is there' },
    { operations: [{ op: 'add', path: '/__proto__', value: 1 }], is: {}, reason: 'a name that JavaScript knows' },
  ])('applies: $reason', ({ operations, is }) => {
    const before = document();
    const expected = Object.fromEntries(Object.entries({ ...before, ...is }).filter(([, each]) => each !== undefined));
    const { document: after } = applyJsonPatch(before, operations) as { document: object };
    expect(after).toMatchObject(expected);
    expect(Object.keys(expected).every((name) => Object.hasOwn(after, name))).toBe(true);
    expect(before).toEqual(document());
  });

  it.each<{ operations: PatchStep[]; message: RegExp; reason: string }>([
    { operations: [{ op: 'add', path: '/x/y', value: 1 }], message: /missing path/, reason: 'nothing to add to' },
    { operations: [{ op: 'add', path: '/list/9', value: 1 }], message: /invalid index/, reason: 'behind the end' },
    { operations: [{ op: 'add', path: '/list/x', value: 1 }], message: /proper array index/, reason: 'no index' },
    { operations: [{ op: 'remove', path: '/x' }], message: /nonexistent key/, reason: 'nothing to remove' },
    { operations: [{ op: 'replace', path: '/list/5', value: 1 }], message: /invalid index/, reason: 'nothing there' },
    { operations: [{ op: 'move', path: '/x' }], message: /from/, reason: 'from nowhere' },
    { operations: [{ op: 'merge', path: '/x' }], message: /Unexpected kind: merge/, reason: 'no such operation' },
    { operations: [{ op: 'add', path: 'x', value: 1 }], message: /missing path/, reason: 'no pointer' },
    {
      operations: [{ op: 'replace', path: '', value: 1 }],
      message: /object or array/,
      reason: 'the whole is no object',
    },
  ])('refuses: $reason', ({ operations, message }) => {
    const patched = applyJsonPatch(document(), operations);
    expect(patched).toMatchObject({ testFailed: false });
    expect(patched.error).toMatch(message);
  });

  it('distinguishes a failed test from an error', () => {
    const operations = [
      { op: 'add', path: '/b', value: 1 },
      { op: 'test', path: '/a', value: 2 },
    ];
    expect(applyJsonPatch(document(), operations)).toMatchObject({ testFailed: true });
  });
});
