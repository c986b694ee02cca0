/** What is counted about who was not believed. */
import { Counter, type Registry } from 'prom-client';
import type { ChannelName } from '../channel.ts';
import { oncePerRegistry } from '../once-per-registry.ts';
import type { RefusalReason } from './identity-error.ts';

export interface IdentityMetrics {
  /** `broker`: the one that it says to be, where there is such a Broker; so that strangers cannot make labels. */
  refused(broker: string | undefined, channel: ChannelName, reason: RefusalReason): void;
}

export const identityMetrics = oncePerRegistry((registry: Registry): IdentityMetrics => {
  const refusals = new Counter({
    name: 'kidp_broker_identity_refusals_total',
    help: 'Tokens and signatures that were not believed, by reason',
    labelNames: ['broker', 'channel', 'reason'],
    registers: [registry],
  });
  return { refused: (broker = 'unknown', channel, reason) => refusals.inc({ broker, channel, reason }) };
});
