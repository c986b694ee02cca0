/** Handles the request topic, which all brokers share: verifies the requests for this broker and passes them to the intake. */
import { brokerNamedIn, readEvent } from '../contract/index.ts';
import { IdentityError, type PlatformVerifier } from '../identity/index.ts';
import { DeadLetter, type IncomingMessage } from '../kafka/index.ts';
import type { Intake } from './intake.ts';
import type { BrokerMetrics } from './metrics.ts';

interface RequestHandlerOptions {
  readonly broker: string;
  readonly verifier: PlatformVerifier;
  readonly intake: Intake;
  readonly metrics: BrokerMetrics;
}

export function requestHandler(options: RequestHandlerOptions): (message: IncomingMessage) => Promise<void> {
  const { broker, verifier, intake, metrics } = options;
  return async ({ value, headers }) => {
    // The addressee is checked first: a request for another broker may have a version that only that broker knows.
    const addressee = brokerNamedIn(value);
    if (addressee !== undefined && addressee !== broker) return;
    const read = readEvent(value, ['request']);
    if ('problem' in read) {
      const { code, path, message } = read.problem;
      metrics.refused('Kafka', code);
      throw new DeadLetter(`${path}: ${message}`, code);
    }
    try {
      await verifier.signature(value, headers.get('signature') ?? '');
    } catch (error) {
      if (!(error instanceof IdentityError) || error.retryable) throw error;
      metrics.refused('Kafka', error.reason);
      throw new DeadLetter(error.message, error.reason, { cause: error });
    }
    await intake.receive(read.event, 'Kafka');
  };
}
