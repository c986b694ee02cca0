/** An existing cluster: joined with a webhook that cannot block it (failurePolicy Ignore), and left unchanged. */
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

/** A namespace that every cluster has, because deleting one of our own would take long. */
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
  await step('permissions to join it, and no other kidp in it', async () => {
    const hint = `Ask for these permissions (check them with "kubectl --kubeconfig ${options.kubeconfig} auth can-i VERB RESOURCE"), or join as a cluster administrator`;
    await demandRights(client, config.source, joinRights(platformNamespace), hint);
    await ensureNoOtherInstallation(client);
  });
  await whole('missing CRDs of platform.company.com', () => addMissingDefinitions(client, cleanup));
  cleanup.add('removing the reports', () => removeReports(client));
  const platform = await whole('admission webhooks, failurePolicy Ignore', () =>
    startPlatform(
      {
        client,
        ...webhookAddress(options),
        failurePolicy: 'Ignore',
        crds: gateOptions(options),
        // Revisions would stay behind in the cluster.
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
      `  admission   ${platform.admission.url} (the API server must reach it: see --webhook-host)`,
      '  callers     not authenticated: denials have no details (docs/security/authenticate-the-api-server.md)',
      '',
      ...commandsToTry(`kubectl --kubeconfig ${options.kubeconfig}`, 'theirs'),
    ],
  };
}
