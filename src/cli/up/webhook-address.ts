/** The address on which the webhook of `kidp up` listens, and at which the API server reaches it. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AdmissionOptions } from '../../admission/index.ts';
import { portOr } from '../../controlplane/index.ts';
import { InputError } from '../common/failure.ts';
import type { UpFlags } from './command.ts';

/** `webhookAddress` is the loopback address, unless --webhook-host names this machine for a cluster elsewhere. */
export function webhookAddress(
  options: Pick<UpFlags, 'webhookHost' | 'webhookPort'>,
): Pick<AdmissionOptions, 'host' | 'port' | 'target'> {
  const { webhookHost, webhookPort } = options;
  if (webhookHost === undefined) return { host: '127.0.0.1', port: webhookPort ?? 0 };
  if (webhookPort === undefined) {
    throw new InputError('webhook-port', '--webhook-host requires --webhook-port, because the cluster needs both.');
  }
  const name = webhookHost.includes(':') ? `[${webhookHost}]` : webhookHost;
  return { host: '0.0.0.0', port: webhookPort, target: { url: `https://${name}:${webhookPort}` } };
}

/**
 * `keptWebhookPort` is the port of the webhook in a local cluster. The API server reads at its start which address it
 * calls with a client certificate, so the port is chosen before and kept for the next run.
 */
export async function keptWebhookPort(
  { webhookPort, reset }: Pick<UpFlags, 'webhookPort' | 'reset'>,
  directory: string,
): Promise<number> {
  if (webhookPort !== undefined) return webhookPort;
  const file = join(directory, 'webhook-port');
  const kept = reset === true ? Number.NaN : Number(await readFile(file, 'utf8').catch(() => ''));
  const port = await portOr(Number.isInteger(kept) && kept > 0 && kept < 65_536 ? kept : undefined);
  await writeFile(file, `${port}\n`, { mode: 0o600 });
  return port;
}

/** `webhookUser` names the webhook in the kubeconfig of the API server's webhook plugins. */
export function webhookUser({ host, port, target }: Pick<AdmissionOptions, 'host' | 'port' | 'target'>): string {
  if (target === undefined || !('url' in target)) return `${host}:${port}`;
  const { hostname, port: written } = new URL(target.url);
  return `${hostname}:${written === '' ? 443 : written}`;
}
