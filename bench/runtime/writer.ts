/**
 * Who writes what both contestants watch for: a plain connection that stays open, and the same for both. With its own client each would
 * be timed by how that writes, too.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { loadKubeconfig } from '../../src/runtime/index.ts';
import type { Material } from '../../src/runtime/internal.ts';
import { configMaps, watched } from './objects.ts';

export interface Writer {
  create(name: string): Promise<void>;
  end(): void;
}

export function openWriter(kubeconfig: string): Writer {
  const config = loadKubeconfig({ file: kubeconfig });
  const pem = (material: Material | undefined): string =>
    material === undefined ? '' : 'data' in material ? material.data : readFileSync(material.file, 'utf8');
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    ca: pem(config.certificateAuthority),
    cert: pem(config.clientCertificate),
    key: pem(config.clientKey),
  });
  const url = `${config.server}/api/${configMaps.version}/namespaces/${watched}/${configMaps.plural}`;
  return {
    create: (name) =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify({ apiVersion: 'v1', kind: configMaps.kind, metadata: { name } });
        const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
        request(url, { agent, method: 'POST', headers }, (answer) => {
          answer.resume().on('end', () => {
            if (answer.statusCode === 201) resolve();
            else reject(new Error(`the writer was answered with ${answer.statusCode}`));
          });
        })
          .on('error', reject)
          .end(body);
      }),
    end: () => agent.destroy(),
  };
}
