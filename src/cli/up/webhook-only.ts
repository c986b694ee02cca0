/** The webhooks without a cluster, for machines that have neither Go nor prebuilt control-plane binaries. */
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
  process.stdout.write(`  no cluster started: ${missing}\n`);
  const policies = await step('starter policies', starterSource);
  const admission = await step('admission webhooks, without a cluster', () =>
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
      '  # admitted',
      '  npx kidp check -f policies/platform -f examples/quickstart/team.yaml',
      '',
      '  # denied by a policy, with the reason: a production database without backups',
      '  npx kidp check -f policies/platform -f examples/quickstart/no-backup.yaml',
      '',
      '  # denied, with the reason: a database must not change its owner',
      '  npx kidp check -f examples/quickstart/new-owner.yaml --old examples/quickstart/team.yaml',
      '',
      '  # a breaking CRD change',
      '  npx kidp crd diff examples/quickstart/crd/definition.yaml examples/quickstart/crd/narrower.yaml',
    ],
  };
}
