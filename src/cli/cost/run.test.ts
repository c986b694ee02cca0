import { expect, test } from 'vitest';
import { runCommand } from '../../../test/support/check-command.ts';
import { declareCost } from './command.ts';

test.each([
  { reason: 'no month', flags: ['--month', 'January'], err: /is not a month: want 2026-01/ },
  { reason: 'a month that no year has', flags: ['--month', '2026-13'], err: /is not a month/ },
  { reason: 'a kubeconfig that is not there', flags: ['--kubeconfig', '/absent/kubeconfig'], err: /absent/ },
])('bad input is exit code 2: $reason', async ({ flags, err }) => {
  const answer = await runCommand(declareCost, flags, {});
  expect(answer).toMatchObject({ code: 2, out: '' });
  expect(answer.err).toMatch(err);
});
