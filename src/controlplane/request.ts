/**
 * One HTTPS request with a client certificate, for probes and the few objects that the control plane creates itself.
 */
import { request as httpsRequest } from 'node:https';
import type { KeyPair } from './pki.ts';

export interface TlsClient {
  authority: string;
  credentials: KeyPair;
}

interface Answer {
  status: number;
  text: string;
}

/**
 * `ask` rejects if there is no response; any status is a response. It opens a new connection each time, because the
 * server may have been replaced.
 */
export function ask(
  client: TlsClient,
  url: string,
  options: { method?: string; body?: unknown; timeoutMilliseconds?: number } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      url,
      {
        agent: false,
        method: options.method ?? 'GET',
        ca: client.authority,
        cert: client.credentials.certificate,
        key: client.credentials.key,
        timeout: options.timeoutMilliseconds ?? 2_000,
        headers: options.body === undefined ? {} : { 'content-type': 'application/json' },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        );
      },
    );
    request.on('timeout', () => request.destroy(new Error(`${url} did not answer in time`)));
    request.on('error', reject);
    request.end(options.body === undefined ? undefined : JSON.stringify(options.body));
  });
}
