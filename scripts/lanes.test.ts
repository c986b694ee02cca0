import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Lane, lanes, lanesNamed, lanesOfTests } from './lanes.ts';

const lane = (changes: Partial<Lane>): Lane => ({
  name: 'one',
  shows: 'something',
  builds: 'a program: 1 minute',
  seconds: 60,
  builtByTests: false,
  missing: () => [],
  isCached: async () => true,
  prepare: async () => undefined,
  ...changes,
});

describe('npm test', () => {
  test.each([
    { reason: 'everything is there', changes: {}, left: undefined },
    {
      reason: 'the machine lacks something',
      changes: { missing: () => ['not installed: runc'] },
      left: 'lane one not run: not installed: runc. On Debian, as root: sh scripts/system-packages.sh. To run it: npm run e2e -- one',
    },
    {
      reason: 'a program would have to be built',
      changes: { isCached: async () => false },
      left: 'lane one not run: not in the cache are a program: 1 minute. To run it: npm run e2e -- one',
    },
    { reason: 'it may build it', changes: { isCached: async () => false, builtByTests: true }, left: undefined },
    {
      reason: 'there is no time',
      changes: { seconds: 1000 },
      left: expect.stringMatching(/^lane one not run: it takes 1000 s, and npm test has \d+ s left for lanes/),
    },
  ])('$reason', async ({ changes, left }) => {
    const choice = await lanesOfTests([lane(changes)]);
    expect(choice.left).toEqual(left === undefined ? [] : [left]);
    expect(choice.chosen).toHaveLength(left === undefined ? 1 : 0);
  });

  test('the lanes share the time', async () => {
    const choice = await lanesOfTests([lane({}), lane({ name: 'two' })]);
    expect(choice.chosen.map(({ name }) => name)).toEqual(['one']);
    expect(choice.left).toHaveLength(1);
  });
});

test('a lane by name is chosen, and an unknown one is refused with those that exist', () => {
  expect(lanesNamed(['image']).map(({ name }) => name)).toEqual(['image']);
  expect(lanesNamed([])).toEqual(lanes);
  expect(() => lanesNamed(['nope'])).toThrow('there is no lane nope, only nodes, image, engines');
});

test('each lane has its project', () => {
  const config = readFileSync(join(import.meta.dirname, '..', 'vitest.config.ts'), 'utf8');
  expect(config).toContain(`const lanes = [${lanes.map(({ name }) => `'${name}'`).join(', ')}];`);
});
