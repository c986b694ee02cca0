/** Maps errors of the Kafka client to the few failures that callers distinguish. */
import { ChannelError, type ChannelFailure } from '../channel.ts';

/** Errors of a single message of a batch: the other messages may be accepted. */
const messageErrors = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD']);

/** Errors that Kafka would return again for the same message. */
const refusals = new Set([
  ...messageErrors,
  'INVALID_TOPIC_EXCEPTION',
  'UNKNOWN_TOPIC_OR_PARTITION',
  'POLICY_VIOLATION',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
]);

export function failureOf(error: unknown): ChannelFailure {
  const parts = partsOf(error);
  if (parts.some(({ apiId }) => apiId !== undefined && refusals.has(apiId))) return 'refused';
  // The client reports this error itself, without Kafka's answer.
  if (parts.some(({ message }) => /^Unknown topic /.test(message))) return 'refused';
  if (parts.some(({ apiId }) => apiId === 'THROTTLING_QUOTA_EXCEEDED')) return 'throttled';
  const last = parts.at(-1);
  if (last?.apiId === 'REQUEST_TIMED_OUT' || last?.message === 'Request timed out') return 'timeout';
  return 'unavailable';
}

export function isMessageError(error: unknown): boolean {
  return partsOf(error).some(({ apiId }) => apiId !== undefined && messageErrors.has(apiId));
}

export function kafkaError(failure: ChannelFailure, reason: string, cause?: unknown): ChannelError {
  return new ChannelError({ channel: 'Kafka', failure, message: `${explanations[failure]}: ${reason}`, cause });
}

const explanations: Readonly<Record<ChannelFailure, string>> = {
  unavailable: 'Kafka is not available',
  timeout: 'Kafka did not answer in time',
  refused: 'Kafka rejected the message',
  throttled: 'Kafka is throttling',
};

/** Describes the innermost causes, each once: `connect ECONNREFUSED 127.0.0.1:9092`. */
export function describeFailure(error: unknown): string {
  const leaves = partsOf(error).filter((part) => part.leaf);
  const texts = new Set(leaves.map(({ apiId, message }) => (apiId === undefined ? message : `${message} (${apiId})`)));
  return [...texts].slice(-3).join('; ') || 'unknown';
}

interface Part {
  message: string;
  /** The name of Kafka's error code. */
  apiId: string | undefined;
  leaf: boolean;
}

/** Flattens an error, its aggregated errors and their causes. */
function partsOf(error: unknown): Part[] {
  if (!(error instanceof Error)) return [{ message: String(error), apiId: undefined, leaf: true }];
  const { errors, apiId } = error as Error & { errors?: unknown; apiId?: unknown };
  const inner = [...(Array.isArray(errors) ? errors : []), ...(error.cause === undefined ? [] : [error.cause])];
  const message = error.message || (error as NodeJS.ErrnoException).code || error.name;
  const own: Part = { message, apiId: typeof apiId === 'string' ? apiId : undefined, leaf: inner.length === 0 };
  return [own, ...inner.flatMap(partsOf)];
}
