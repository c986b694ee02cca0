/** The address on which the webhook of `kidp up` listens, and at which the API server reaches it. */
import type { AdmissionOptions } from '../../admission/index.ts';
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
