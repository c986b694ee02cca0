/** Where the webhook listens, and where the API server finds it. */
import type { AdmissionOptions } from '../../admission/index.ts';
import { InputError } from '../common/failure.ts';
import type { UpFlags } from './command.ts';

/** On this machine alone, unless the cluster is elsewhere and was told a name for it. */
export function webhookAddress(
  options: Pick<UpFlags, 'webhookHost' | 'webhookPort'>,
): Pick<AdmissionOptions, 'host' | 'port' | 'target'> {
  const { webhookHost, webhookPort } = options;
  if (webhookHost === undefined) return { host: '127.0.0.1', port: webhookPort ?? 0 };
  if (webhookPort === undefined) {
    throw new InputError('webhook-port', '--webhook-host wants --webhook-port too: the cluster must know both.');
  }
  const name = webhookHost.includes(':') ? `[${webhookHost}]` : webhookHost;
  return { host: '0.0.0.0', port: webhookPort, target: { url: `https://${name}:${webhookPort}` } };
}
