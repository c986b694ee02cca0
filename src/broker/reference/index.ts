/**
 * Reference brokers: what carries out requests, in a Kubernetes cluster or on a Kafka, and reports back.
 *
 * In: requests of the platform, through Kafka or over HTTP. Out: the things that were asked for, and reports about them. It must not
 * know reconcilers, nor anything of the platform beyond what any broker is told: the messages and the platform's keys.
 */
import type { KafkaProviderOptions } from './kafka/provider.ts';
import type { Provider } from './provider.ts';

export type { KafkaProviderOptions } from './kafka/provider.ts';
export { kubernetesProvider } from './kubernetes/provider.ts';
export { type Provider, ProviderFailure } from './provider.ts';
export type { DeploymentRecord } from './record.ts';
export { type BrokerOptions, type RunningBroker, startBroker } from './start.ts';
export type { PriceTable } from './usage.ts';

/** With its client of Kafka, which takes most of a second to load: only for who wants one. */
export async function kafkaProvider(options: KafkaProviderOptions): Promise<Provider> {
  const { kafkaProvider: make } = await import('./kafka/provider.ts');
  return make(options);
}
