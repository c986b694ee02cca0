/**
 * Reference brokers: they carry out requests in a Kubernetes or Kafka cluster, and report back.
 *
 * In: requests of the platform, through Kafka or over HTTP. Out: deployments, and reports on them. This module does not
 * know reconcilers, nor anything of the platform beyond the messages and its keys.
 */
import type { KafkaProviderOptions } from './kafka/provider.ts';
import type { Provider } from './provider.ts';

export type { KafkaProviderOptions } from './kafka/provider.ts';
export { kubernetesProvider } from './kubernetes/provider.ts';
export { followPlatformAuthorities } from './platform-authorities.ts';
export { type Provider, ProviderFailure } from './provider.ts';
export type { DeploymentRecord } from './record.ts';
export { registerBroker } from './registration.ts';
export { type BrokerOptions, type RunningBroker, startBroker } from './start.ts';
export type { PriceTable } from './usage.ts';

/** Loads the Kafka client only when it is needed: that takes most of a second. */
export async function kafkaProvider(options: KafkaProviderOptions): Promise<Provider> {
  const { kafkaProvider: make } = await import('./kafka/provider.ts');
  return make(options);
}
