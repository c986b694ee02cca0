/** Publishes the key that kubeconfigs are sealed with, and the next one when it has changed. */
import { publishSealingKey, type SealingKeys } from '../../../fleet/index.ts';
import { type Client, type Clock, type Logger, type Runnable, sleep } from '../../../runtime/index.ts';

export function sealingKeyPublisher(parts: {
  readonly client: Client;
  readonly systemNamespace: string;
  readonly keys: SealingKeys;
  readonly clock: Clock;
  readonly log: Logger;
  readonly everyMilliseconds: number;
}): Runnable {
  const { client, systemNamespace, keys, clock, log, everyMilliseconds } = parts;
  return {
    name: 'sealing key',
    leaderOnly: true,
    async start(signal) {
      while (!signal.aborted) {
        try {
          const { sealing } = await keys.current();
          if (await publishSealingKey(client, systemNamespace, sealing)) {
            log.info('the key that kubeconfigs are sealed with was published', { keyId: sealing.id });
          }
        } catch (error) {
          log.error('the key that kubeconfigs are sealed with could not be published, it comes again', { error });
        }
        await sleep(clock, everyMilliseconds, signal);
      }
    },
  };
}
