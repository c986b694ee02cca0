import { isDeepStrictEqual } from 'node:util';
import {
  brokerEventKinds,
  brokerNamedIn,
  encodeEvent,
  eventKinds,
  heartbeatEvent,
  readEvent,
  requestEvent,
  statusEvent,
  usageEvent,
} from '../../../src/broker/contract/index.ts';
import { DeadLetter } from '../../../src/broker/kafka/index.ts';
import {
  type BrokerEvent,
  REQUEST_TYPE,
  type RequestEvent,
  STATUS_TYPE,
  type StatusEvent,
} from '../../../src/broker/messages.ts';
import { claim, queried, stableJson } from '../../../src/broker/reference/record.ts';
import { statusHandler } from '../../../src/broker/reports/consumer.ts';
import { reportReceiver } from '../../../src/broker/reports/receive.ts';
import type { ReportOutcome, ReportSink } from '../../../src/broker/sink.ts';
import { parseEvents, receiveAll, responseFor } from '../../../src/broker/status-api/batch.ts';
import { type Deployable, defaultSettings } from '../../../src/reconcile/deployable/deployable.ts';
import { applyReport, markReportMissed } from '../../../src/reconcile/deployable/reports.ts';
import { silentLogger } from '../../../src/runtime/index.ts';
import { Problem, parseStrictly } from '../../../src/runtime/internal.ts';
import { FakeClock } from '../../../src/runtime/testing/index.ts';
import { ensure } from '../engine/explore.ts';
import type { Target } from '../engine/target.ts';

const time = new Date('2026-01-31T12:00:00Z');
const resource = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  namespace: 'team-backend',
  name: 'users',
  uid: '3f2c',
} as const;

const clock = new FakeClock(time.getTime());
const database = {
  apiVersion: 'platform.company.com/v1',
  kind: 'Database',
  metadata: { namespace: 'team-backend', name: 'users', uid: '3f2c', generation: 4 },
  spec: {},
  status: { deploymentId: '3f2c/4/1', targetRef: { name: 't', broker: 'azure' } },
} as unknown as Deployable;

/** The decisions of the sink about a report, without the API server that it writes to. */
const sink: ReportSink = {
  receive: async (event) => (event.type === STATUS_TYPE ? reported(event) : { result: 'applied' }),
  recordMissed: async ({ data }) => void markReportMissed(database, data, clock.now()),
};

function reported({ data, time: at }: StatusEvent): ReportOutcome {
  const { outcome, status } = applyReport(database, data, {
    ...{ from: 'azure', time: at, now: clock.now(), settings: defaultSettings },
  });
  ensure(
    isDeepStrictEqual(JSON.parse(stableJson(status ?? {})), JSON.parse(JSON.stringify(status ?? {}))),
    'a status is written as it is',
  );
  return outcome;
}

const receive = reportReceiver({ sink, log: silentLogger, clock });
const from = { name: 'azure', channel: 'HTTP' } as const;
const handle = statusHandler({
  ...{ sink, log: silentLogger, clock },
  verifier: { token: async () => from, signature: async () => ({ ...from, channel: 'Kafka' }) },
});

export const target: Target = {
  about: 'CloudEvents: requests to and reports of brokers, over Kafka and HTTP, up to what they change',
  modules: [
    'src/broker/contract/',
    'src/broker/deployment-id.ts',
    'src/broker/reference/record.ts',
    'src/broker/reports/',
    'src/broker/status-api/batch.ts',
    'src/reconcile/deployable/reports.ts',
    'src/reconcile/deployable/describe.ts',
    'src/runtime/outbound/strict-json.ts',
  ],
  words: [
    'specversion',
    'data',
    'deploymentId',
    'resource',
    'traceparent',
    'tracestate',
    'correlationid',
    '__proto__',
    'constructor',
    'prototype',
    '2026-02-30T00:00:00Z',
    '3f2c/4/1',
    'Query',
    'asOf',
    'action',
    'replyTo',
    'error',
    'final',
    'failed',
    'drifted',
    'transient',
    'secretRef',
    'data_base64',
  ],
  isJson: true,
  seeds: () =>
    [
      encodeEvent(
        statusEvent(
          {
            broker: 'azure',
            deploymentId: '3f2c/4/1',
            resource,
            sequence: 3,
            phase: 'ready',
            message: 'done',
            outputs: { host: 'h' },
            credentials: { revision: '1', jwe: 'a..b.c.d' },
          },
          { time },
        ),
      ),
      encodeEvent(
        heartbeatEvent({ broker: 'azure', version: '1.2.3', capabilities: ['Topic', 'Database/postgresql'] }, { time }),
      ),
      encodeEvent(
        usageEvent(
          {
            broker: 'azure',
            resource,
            month: '2026-01',
            currency: 'EUR',
            amount: '1.5',
            asOf: '2026-01-31T12:00:00Z',
          },
          { time },
        ),
      ),
      encodeEvent(
        requestEvent(
          {
            action: 'Deploy',
            deploymentId: '3f2c/4/1',
            broker: 'azure',
            resource: { ...resource, generation: 4 },
            labels: { a: 'b' },
            team: 'team-backend',
            target: { name: 't', provider: 'azure', region: 'westus2', parameters: { x: 'y' } },
            spec: { engine: 'postgresql', replicas: 2 },
            bindings: [],
            costTags: {},
            replyTo: { statusTopic: 's', statusUrl: 'https://status', encryptionKey: { kty: 'EC' } },
          },
          {
            time,
            cause: { correlationid: 'c', traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' },
          },
        ),
      ),
    ].map((bytes) => Buffer.from(bytes)),
  async run(input) {
    await overHttp(input);
    await overKafka(input);
    brokerNamedIn(input);
    for (const kinds of [brokerEventKinds, eventKinds]) {
      const read = readEvent(input, kinds);
      if ('problem' in read) {
        const { code, path, message } = read.problem;
        ensure(code.length > 0 && message !== '', 'a problem has a code and a message');
        ensure(message.length < 4_096 && path.length < 4_096, 'a problem is short, whatever was sent');
        continue;
      }
      const again = readEvent(encodeEvent(read.event), kinds);
      ensure('event' in again, 'a written event can be read', () => JSON.stringify(again));
      // JSON.stringify writes -0 as 0.
      ensure(isDeepStrictEqual(written(again.event), written(read.event)), 'a written event is read as it was');
      ensure(brokerNamedIn(input) === read.event.data.broker, 'the named broker is that of the event');
      if (read.event.type === REQUEST_TYPE) claimed(read.event);
    }
  },
};

const written = (event: unknown): unknown => JSON.parse(JSON.stringify(event));

/** As the status API handles a body; nothing fails behind it, so that nothing must be sent again. */
async function overHttp(input: Buffer): Promise<void> {
  const parsed = parseStrictly(input);
  if ('problem' in parsed) return;
  for (const type of ['application/cloudevents+json', 'application/cloudevents-batch+json', 'application/json']) {
    try {
      const events = parseEvents(parsed.value, type);
      const results = await receiveAll(
        events,
        (event: BrokerEvent) => receive(event, from),
        () => {},
      );
      ensure(results.length === events.length, 'each event has a result');
      ensure(
        results.every(({ result }) => result !== 'retry'),
        'no event is to be sent again for what is in it',
      );
      responseFor(results, Array.isArray(parsed.value));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      ensure(error.status >= 400 && error.status < 500, 'a body is never answered with a 5xx', () => error.message);
    }
  }
}

async function overKafka(value: Buffer): Promise<void> {
  const message = { key: undefined, value, headers: new Map(), topic: 's', partition: 0, offset: 0n };
  try {
    await handle(message);
  } catch (error) {
    if (!(error instanceof DeadLetter)) throw error;
    ensure(error.code !== '' && error.message !== '', 'a dead letter has a code and a reason');
  }
}

/** The record that the reference broker makes of a request. */
function claimed(event: RequestEvent): void {
  const moment = { now: clock.now(), instance: 'i' };
  const first = claim(undefined, event, moment);
  ensure(first.outcome === 'accepted', 'an unknown deployment is accepted');
  ensure(claim(first.record, event, moment).outcome === 'duplicate', 'a repeated request is a duplicate');
  const next = queried(first.record, event, moment);
  ensure(next.sequence > first.record.sequence, 'a query is reported with a new sequence');
}
