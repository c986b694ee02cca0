/** A cluster that is somebody else's: joined with a webhook that can never block it, and left as it was. */
import { ensureNoOtherInstallation } from '../../admission/index.ts';
import { type Cleanup, demandRights, joinRights, startPlatform } from '../../platform/index.ts';
import { removeReports } from '../../reconcile/index.ts';
import { connect, loadKubeconfig } from '../../runtime/index.ts';
import { gateOptions } from '../common/crd-gate-flags.ts';
import type { UpFlags } from './command.ts';
import { addMissingDefinitions } from './definitions.ts';
import { endOf, type Running } from './running.ts';
import type { Steps } from './steps.ts';
import { webhookAddress } from './webhook-address.ts';
import { commandsToTry } from './welcome.ts';

/** A namespace that every cluster has: one that we made could not be taken back at once. */
const platformNamespace = 'kube-system';

export async function joinCluster(
  options: UpFlags & { kubeconfig: string },
  { step, whole }: Steps,
  cleanup: Cleanup,
): Promise<Running> {
  const config = await loadKubeconfig({ file: options.kubeconfig });
  const client = connect(config);
  cleanup.add('closing the connections', () => client.close());
  await step(`connected to ${config.server}`, () => client.request({ method: 'GET', path: '/version' }));
  await step('rights to join it, and nobody else who serves it', async () => {
    const hint = `Ask for these rights ("kubectl --kubeconfig ${options.kubeconfig} auth can-i VERB RESOURCE" tells what you may), or join as an administrator of the cluster`;
    await demandRights(client, config.source, joinRights(platformNamespace), hint);
    await ensureNoOtherInstallation(client);
  });
  await whole('the kinds of platform.company.com that were missing', () => addMissingDefinitions(client, cleanup));
  cleanup.add('removing the reports', () => removeReports(client));
  const platform = await whole('admission webhooks, failurePolicy Ignore', () =>
    startPlatform(
      {
        client,
        ...webhookAddress(options),
        failurePolicy: 'Ignore',
        crds: gateOptions(options),
        // They would stay behind.
        revisions: { kept: 0 },
        platformNamespace,
      },
      cleanup,
    ),
  );
  return {
    ended: endOf(platform),
    welcome: [
      `  API server  ${config.server}`,
      `  admission   ${platform.admission.url} (the API server must be able to reach it: --webhook-host)`,
      '',
      ...commandsToTry(`kubectl --kubeconfig ${options.kubeconfig}`, 'theirs'),
    ],
  };
}
