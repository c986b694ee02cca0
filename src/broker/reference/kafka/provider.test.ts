import { expect, test } from 'vitest';
import { removeTopic } from './provider.ts';

test('a topic that was just made is removed, though no list has it yet', async () => {
  // As whoever decides about topics knows them, and as a server lists them that has not heard of the newest.
  const decided = new Set(['events']);
  const listed = new Set<string>();
  const admin = {
    remove: async (name: string) => decided.delete(name),
    exists: async (name: string) => listed.has(name),
  };
  expect(await removeTopic(admin, 'events')).toMatchObject({ gone: false });
  expect(decided.size).toBe(0);
  // Nor is it gone before the servers have heard of that.
  listed.add('events');
  expect(await removeTopic(admin, 'events')).toMatchObject({ gone: false });
  listed.clear();
  expect(await removeTopic(admin, 'events')).toEqual({ gone: true });
});
