/** Writes a kubeconfig with one context, everything inline. JSON is valid YAML, so it is written as JSON. */
import { readFileSync } from 'node:fs';
import type { ClusterConfig } from '../../runtime/index.ts';
import type { Material } from '../../runtime/internal.ts';

/** `writeKubeconfig`: `token` replaces the credentials of the config. Referenced files are read. */
export function writeKubeconfig(config: ClusterConfig, token?: string): string {
  const authority = contentOf(config.certificateAuthority);
  const credentials =
    token === undefined
      ? {
          token: contentOf(config.token)?.trim(),
          'client-certificate-data': base64(contentOf(config.clientCertificate)),
          'client-key-data': base64(contentOf(config.clientKey)),
        }
      : { token };
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'cluster',
        cluster: {
          server: config.server,
          'certificate-authority-data': base64(authority),
          'tls-server-name': config.tlsServerName,
        },
      },
    ],
    users: [{ name: 'user', user: credentials }],
    contexts: [{ name: 'context', context: { cluster: 'cluster', user: 'user' } }],
    'current-context': 'context',
  };
  return `${JSON.stringify(document)}\n`;
}

const contentOf = (material: Material | undefined): string | undefined =>
  material === undefined ? undefined : 'data' in material ? material.data : readFileSync(material.file, 'utf8');

const base64 = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : Buffer.from(text).toString('base64');
