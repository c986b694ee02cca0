/** A kubeconfig for one user of one server, everything inline. JSON is YAML, so it is written as JSON. */
import type { KeyPair } from './pki.ts';

export function kubeconfig(input: { server: string; authority: string; user: string; credentials: KeyPair }): string {
  const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'kidp',
        cluster: { server: input.server, 'certificate-authority-data': base64(input.authority) },
      },
    ],
    users: [
      {
        name: input.user,
        user: {
          'client-certificate-data': base64(input.credentials.certificate),
          'client-key-data': base64(input.credentials.key),
        },
      },
    ],
    contexts: [{ name: 'kidp', context: { cluster: 'kidp', user: input.user } }],
    'current-context': 'kidp',
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}
