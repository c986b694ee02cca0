/** A cluster that is somebody else's: joined with a webhook that can never block it, and left as it was. */
import { connect, loadKubeconfig } from '../../runtime/index.ts';
import { gateOptions } from '../crd-gate-options.ts';
import type { Running, UpOptions } from '../up.ts';
import { addMissingDefinitions } from './definitions.ts';
import { startPlatform } from './platform.ts';
import type { Steps } from './steps.ts';
import type { Undo } from './undo.ts';
import { webhookAddress } from './webhook.ts';
import { commandsToTry } from './welcome.ts';

export async function joinCluster(
  options: UpOptions & { kubeconfig: string },
  { step, whole }: Steps,
  undo: Undo,
): Promise<Running> {
  const config = await loadKubeconfig({ file: options.kubeconfig });
  const client = connect(config);
  undo.add('closing the connections', () => client.close());
  await step(`connected to ${config.server}`, () => client.request({ method: 'GET', path: '/version' }));
  await whole('the kinds of platform.company.com that were missing', () => addMissingDefinitions(client, undo));
  const { admission } = await whole('admission webhooks, failurePolicy Ignore', () =>
    startPlatform(
      {
        client,
        ...webhookAddress(options),
        failurePolicy: 'Ignore',
        crds: gateOptions(options),
        // They would stay behind.
        revisions: { kept: 0 },
        // A namespace that every cluster has: one that we made could not be taken back at once.
        platformNamespace: 'kube-system',
      },
      undo,
    ),
  );
  return {
    welcome: [
      `  API server  ${config.server}`,
      `  admission   ${admission.url} (the API server must be able to reach it: --webhook-host)`,
      '',
      ...commandsToTry(`kubectl --kubeconfig ${options.kubeconfig}`, 'theirs'),
    ],
  };
}
