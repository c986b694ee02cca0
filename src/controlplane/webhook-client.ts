/**
 * The client certificate with which the API server calls webhooks. Both webhook plugins read it from a kubeconfig, whose
 * users are named after the webhooks.
 */
import { issueLeaf } from './pki.ts';
import type { ControlPlaneState } from './state.ts';

/** The common name of the certificate. */
export const webhookClientName = 'kube-apiserver-webhook-client';

/** `webhookClientFiles` writes the files of the plugins and returns the value of `--admission-control-config-file`. */
export async function webhookClientFiles(
  { webhookAuthority }: ControlPlaneState,
  webhooks: readonly string[],
  write: (name: string, content: string) => Promise<string>,
): Promise<string> {
  if (webhookAuthority === undefined) throw new Error('the state has no CA for the client certificate of webhooks');
  const { certificate, key } = issueLeaf(webhookAuthority, { commonName: webhookClientName });
  const user = {
    'client-certificate': await write('webhook-client.crt', certificate),
    'client-key': await write('webhook-client.key', key),
  };
  const users = webhooks.map((name) => ({ name, user }));
  const kubeConfigFile = await write(
    'webhook-client.kubeconfig',
    JSON.stringify({ apiVersion: 'v1', kind: 'Config', users }),
  );
  return write('admission.json', JSON.stringify(admissionConfiguration(kubeConfigFile)));
}

function admissionConfiguration(kubeConfigFile: string): unknown {
  return {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: ['MutatingAdmissionWebhook', 'ValidatingAdmissionWebhook'].map((name) => ({
      name,
      configuration: {
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'WebhookAdmissionConfiguration',
        kubeConfigFile,
      },
    })),
  };
}
