/** The webhooks without a cluster: for machines that have neither Go nor ready-made binaries. */
import { startAdmission } from '../../admission/index.ts';
import type { Cleanup } from '../../platform/index.ts';
import type { UpFlags } from './command.ts';
import type { Running } from './running.ts';
import { starterSource } from './starter-policies.ts';
import type { Steps } from './steps.ts';
import { webhookAddress } from './webhook-address.ts';

export async function serveAlone(
  options: UpFlags,
  step: Steps['step'],
  cleanup: Cleanup,
  missing: string,
): Promise<Running> {
  process.stdout.write(`  no cluster is started: ${missing}\n`);
  const policies = await step('starter policies', starterSource);
  const admission = await step('admission webhooks, alone', () =>
    startAdmission({ ...webhookAddress(options), failurePolicy: 'Ignore', policies, dispatches: false }),
  );
  cleanup.add('stopping the webhooks', () => admission.stop());
  return {
    welcome: [
      `  admission   ${admission.url}`,
      `  policies    ${policies.current().set.policies.length} starter policies (policies/)`,
      '',
      'The same decisions without a server, in another terminal:',
      '',
      '  # let in',
      '  npx kidp check -f policies/platform -f examples/quickstart/team.yaml',
      '',
      '  # denied by a policy, with the reason: production without backups',
      '  npx kidp check -f policies/platform -f examples/quickstart/no-backup.yaml',
      '',
      '  # denied, with the reason: the database moves to another owner',
      '  npx kidp check -f examples/quickstart/new-owner.yaml --old examples/quickstart/team.yaml',
      '',
      '  # a CRD change that breaks what exists',
      '  npx kidp crd diff examples/quickstart/crd/definition.yaml examples/quickstart/crd/narrower.yaml',
    ],
  };
}
