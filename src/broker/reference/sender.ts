/** Sends reports to the platform: through Kafka first, over HTTP if Kafka is not available. */

import { Agent, request } from 'undici';
import { type AddressGuard, isSafeToReach, parseStrictly, readAtMost } from '../../runtime/internal.ts';
import { ChannelError, type ChannelName } from '../channel.ts';
import { encodeEvent } from '../contract/index.ts';
import { type KeyRing, STATUS_SCOPE } from '../identity/index.ts';
import type { KafkaProducer } from '../kafka/index.ts';
import { type BrokerEvent, type ReplyTo, USAGE_TYPE } from '../messages.ts';

export interface StatusSender {
  /**
   * Resolves once the report is acknowledged. Rejects with a `ChannelError`: `refused` if the platform will never
   * accept it.
   */
  send(event: BrokerEvent, replyTo: Pick<ReplyTo, 'statusTopic' | 'statusUrl'>, key: string): Promise<ChannelName>;
  close(): Promise<void>;
}

interface StatusSenderOptions {
  readonly keys: KeyRing;
  /** The platform's issuer: the audience of the broker's tokens. */
  readonly audience: string;
  readonly kafka?: KafkaProducer | undefined;
  readonly statusTopic: string;
  readonly statusUrl?: string | undefined;
  /** The certificate authorities trusted at the status URL, as PEM; they may change. */
  readonly ca?: (() => string | undefined) | undefined;
  /** Allows plain HTTP to other machines: for clusters whose service mesh encrypts. */
  readonly insecureHttp?: boolean | undefined;
  readonly timeoutMilliseconds?: number;
  /** The guard of connections to the address that a request names. `statusUrl` is the administrator's own. */
  readonly guard?: AddressGuard | undefined;
}

const maxAnswerBytes = 64 * 1024;

export function statusSender(options: StatusSenderOptions): StatusSender {
  const { keys, audience, kafka, timeoutMilliseconds = 10_000 } = options;
  const own = options.statusUrl === undefined ? undefined : URL.parse(options.statusUrl)?.origin;
  const agents = currentAgents(options, timeoutMilliseconds);

  async function byKafka(producer: KafkaProducer, event: BrokerEvent, topic: string, key: string): Promise<void> {
    const value = encodeEvent(event);
    const headers = {
      'content-type': 'application/cloudevents+json; charset=UTF-8',
      signature: await keys.sign(value),
      ...(event.traceparent === undefined ? {} : { traceparent: event.traceparent }),
      ...(event.tracestate === undefined ? {} : { tracestate: event.tracestate }),
    };
    await producer.send({ topic, key, value, headers });
  }

  async function byHttp(event: BrokerEvent, url: string): Promise<void> {
    const address = URL.parse(url);
    if (address === null || !isSafeToReach(address, options.insecureHttp ?? false)) {
      throw failure('unavailable', `${url} is not encrypted and would expose the broker's token: use https`);
    }
    let status: number;
    let body: Buffer;
    const { agent, guarded } = agents.get();
    try {
      const answer = await request(url, {
        dispatcher: address.origin === own ? agent : guarded,
        method: 'POST',
        signal: AbortSignal.timeout(timeoutMilliseconds),
        headers: {
          authorization: `Bearer ${await keys.token({ audience, scope: STATUS_SCOPE })}`,
          'content-type': 'application/cloudevents+json',
          ...(event.traceparent === undefined ? {} : { traceparent: event.traceparent }),
          ...(event.tracestate === undefined ? {} : { tracestate: event.tracestate }),
        },
        body: encodeEvent(event),
      });
      status = answer.statusCode;
      body = await readAtMost(answer.body, maxAnswerBytes);
    } catch (cause) {
      throw failure('unavailable', `the platform cannot be reached at ${url}: ${(cause as Error).message}`, cause);
    }
    const said = parseAnswer(body);
    if (status >= 200 && status < 300 && typeof said.result === 'string') return;
    throw failure(
      (isFinal(status) && typeof said.code === 'string') || isSupersededUsage(event, said.code)
        ? 'refused'
        : 'unavailable',
      `the platform answered ${status}: ${body.toString('utf8', 0, 300)}`,
    );
  }

  return {
    async send(event, replyTo, key) {
      const url = replyTo.statusUrl ?? options.statusUrl;
      const topic = replyTo.statusTopic ?? options.statusTopic;
      let failed: unknown;
      if (kafka?.available(topic) === true || (kafka !== undefined && url === undefined)) {
        try {
          await byKafka(kafka, event, topic, key);
          return 'Kafka';
        } catch (error) {
          failed = asRetryable(error);
        }
      }
      if (url === undefined) {
        throw (
          failed ?? failure('unavailable', 'no channel to the platform: configure Kafka or the URL of the status API')
        );
      }
      await byHttp(event, url);
      return 'HTTP';
    },
    close: () => agents.close(),
  };
}

/** The connections to the platform. They are opened again when the CA certificates have changed. */
function currentAgents({ ca: authorities, guard }: StatusSenderOptions, timeout: number) {
  const open = (ca: string | undefined) => {
    const connect = { timeout, ...(ca === undefined ? {} : { ca }) };
    const agent = new Agent({ connections: 16, connect });
    const guarded = guard === undefined ? agent : new Agent({ connections: 16, connect: guard.connector(connect) });
    return { ca, agent, guarded };
  };
  let current = open(authorities?.());
  return {
    get() {
      const ca = authorities?.();
      if (ca !== current.ca) {
        // Requests in flight are finished.
        for (const each of new Set([current.agent, current.guarded])) void each.close();
        current = open(ca);
      }
      return current;
    },
    close: async () => void (await Promise.all([current.agent.destroy(), current.guarded.destroy()])),
  };
}

/**
 * Parses the platform's answer. A login or error page of a proxy is not an answer of the platform: treating it as one
 * would lose the report.
 */
function parseAnswer(body: Buffer): { readonly result?: unknown; readonly code?: unknown } {
  const parsed = parseStrictly(body);
  return 'value' in parsed && typeof parsed.value === 'object' && parsed.value !== null ? parsed.value : {};
}

/**
 * Makes refusals of Kafka retryable: the topic is the cause, which is missing or not writable until an administrator
 * fixes it.
 */
function asRetryable(error: unknown): unknown {
  if (!(error instanceof ChannelError) || error.failure !== 'refused') return error;
  return new ChannelError({ channel: 'Kafka', failure: 'unavailable', message: error.message, cause: error });
}

/**
 * Whether a status is final. 401 and 403 may be about keys that the platform does not have yet; any other refusal would
 * be repeated.
 */
const isFinal = (status: number): boolean => [400, 404, 409, 410, 413, 415, 422].includes(status);

/** Costs of an object that another broker has taken over. */
const isSupersededUsage = ({ type }: BrokerEvent, code: unknown): boolean =>
  type === USAGE_TYPE && code === 'wrong-broker';

const failure = (kind: 'unavailable' | 'refused', message: string, cause?: unknown) =>
  new ChannelError({ channel: 'HTTP', failure: kind, message, cause });
