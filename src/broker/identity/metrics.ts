/** Metrics of rejected identities. */
import { Counter, type Registry } from 'prom-client';
import type { ChannelName } from '../channel.ts';
import { oncePerRegistry } from '../once-per-registry.ts';
import type { RefusalReason } from './identity-error.ts';

export interface IdentityMetrics {
  /** `broker` is the claimed Broker if it exists, so that strangers cannot create labels. */
  refused(broker: string | undefined, channel: ChannelName, reason: RefusalReason): void;
}

export const identityMetrics = oncePerRegistry((registry: Registry): IdentityMetrics => {
  const refusals = new Counter({
    name: 'kidp_broker_identity_refusals_total',
    help: 'Rejected tokens and signatures, by reason',
    labelNames: ['broker', 'channel', 'reason'],
    registers: [registry],
  });
  return { refused: (broker = 'unknown', channel, reason) => refusals.inc({ broker, channel, reason }) };
});
