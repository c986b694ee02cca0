/** The pages that are read from the source follow it: the module graph, the API pages, error codes and reasons. */
import { expect, test } from 'vitest';
import { outdatedPages } from '../../scripts/docs/main.ts';

test('the generated pages are up to date: if not, run `npm run generate`', () => {
  expect(outdatedPages()).toEqual([]);
});
