import { expect, test } from 'vitest';
import { runCommand } from '../../../test/support/check-command.ts';
import { declareUninstall } from './command.ts';

test.each([
  { reason: 'an unknown mode', flags: ['--finalizers', 'drop'], err: /Allowed choices are release, delete/ },
  { reason: 'no time at all', flags: ['--timeout', '0'], err: /want a whole number of seconds from 1 to 86400/ },
  { reason: 'a kubeconfig that is not there', flags: ['--kubeconfig', '/absent/kubeconfig'], err: /absent/ },
])('bad input: $reason', async ({ flags, err }) => {
  const answer = await runCommand(declareUninstall, flags, {});
  expect(answer).toMatchObject({ out: '' });
  expect(answer.err).toMatch(err);
});
