import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { type BrokerAddress, type Channel, ChannelError, type ChannelFailure, type ChannelName } from '../channel.ts';
import { requestEvent } from '../contract/index.ts';
import { dispatcher } from './dispatcher.ts';
import { brokerCallMetrics } from './metrics.ts';

const event = requestEvent({
  action: 'Deploy',
  deploymentId: 'u/1/0',
  broker: 'azure',
  resource: { apiVersion: 'platform.company.com/v1', kind: 'Cache', namespace: 'team', name: 'sessions', uid: 'u' },
  target: { name: 'west', provider: 'azure' },
  spec: {},
  replyTo: {},
});
const address = (
  channel: BrokerAddress['channel'],
  endpoint: string | undefined = 'https://broker',
): BrokerAddress => ({
  name: 'azure',
  channel,
  ...(endpoint === undefined ? {} : { endpoint }),
  kafka: { requestTopic: 'deployment-requests', statusTopic: 'deployment-status' },
});

type Behaviour = 'works' | 'away' | ChannelFailure;

function channel(name: ChannelName, behaviour: Behaviour, tried: string[]): Channel {
  return {
    name,
    available: () => behaviour !== 'away',
    async send() {
      tried.push(name);
      if (behaviour === 'works') return;
      throw new ChannelError({
        channel: name,
        failure: behaviour === 'away' ? 'unavailable' : behaviour,
        message: name,
      });
    },
    close: async () => {},
  };
}

interface Row {
  reason: string;
  broker?: BrokerAddress['channel'];
  kafka?: Behaviour;
  http?: Behaviour;
  urgent?: boolean;
  tried: ChannelName[];
  result: ChannelName | `${ChannelName} ${ChannelFailure}`;
}

const rows: Row[] = [
  { reason: 'Kafka comes first', kafka: 'works', http: 'works', tried: ['Kafka'], result: 'Kafka' },
  { reason: 'HTTP where Kafka fails', kafka: 'unavailable', http: 'works', tried: ['Kafka', 'HTTP'], result: 'HTTP' },
  {
    reason: 'HTTP at once where Kafka is known to be away',
    kafka: 'away',
    http: 'works',
    tried: ['HTTP'],
    result: 'HTTP',
  },
  {
    reason: 'what is away is tried last',
    kafka: 'away',
    http: 'timeout',
    tried: ['HTTP', 'Kafka'],
    result: 'HTTP timeout',
  },
  { reason: 'urgent goes by HTTP', kafka: 'works', http: 'works', urgent: true, tried: ['HTTP'], result: 'HTTP' },
  {
    reason: 'urgent, HTTP fails',
    kafka: 'works',
    http: 'timeout',
    urgent: true,
    tried: ['HTTP', 'Kafka'],
    result: 'Kafka',
  },
  { reason: 'too large for Kafka', kafka: 'refused', http: 'works', tried: ['Kafka', 'HTTP'], result: 'HTTP' },
  {
    reason: 'both fail: the transient failure is reported',
    kafka: 'unavailable',
    http: 'refused',
    tried: ['Kafka', 'HTTP'],
    result: 'Kafka unavailable',
  },
  {
    reason: 'refused on both channels',
    kafka: 'refused',
    http: 'refused',
    tried: ['Kafka', 'HTTP'],
    result: 'HTTP refused',
  },
  {
    reason: 'a broker that uses HTTP only',
    broker: 'HTTP',
    kafka: 'works',
    http: 'works',
    tried: ['HTTP'],
    result: 'HTTP',
  },
  {
    reason: 'a broker that uses Kafka only',
    broker: 'Kafka',
    kafka: 'timeout',
    http: 'works',
    tried: ['Kafka'],
    result: 'Kafka timeout',
  },
  { reason: 'no channel at all', broker: 'Kafka', http: 'works', tried: [], result: 'Kafka unavailable' },
];

test.each(rows)('$reason', async ({ broker = 'Both', kafka, http, urgent = false, tried, result }) => {
  const seen: string[] = [];
  const { send } = dispatcher({
    kafka: kafka && channel('Kafka', kafka, seen),
    http: http && channel('HTTP', http, seen),
  });
  const outcome = await send(event, address(broker), { urgent }).then(
    (sent) => sent.channel,
    (error: ChannelError) => `${error.channel} ${error.failure}`,
  );
  expect({ tried: seen, result: outcome }).toEqual({ tried, result });
});

test('every call is counted, by its result', async () => {
  const registry = new Registry();
  const metrics = brokerCallMetrics(registry);
  expect(brokerCallMetrics(registry)).toBe(metrics);
  const seen: string[] = [];
  const { send } = dispatcher({
    kafka: channel('Kafka', 'timeout', seen),
    http: channel('HTTP', 'works', seen),
    metrics,
  });
  await send(event, address('Both'));
  const text = await registry.metrics();
  expect(text).toContain('kidp_broker_call_errors_total{broker="azure",channel="Kafka",reason="timeout"} 1');
  expect(text).toContain(
    'kidp_broker_call_duration_seconds_count{broker="azure",channel="HTTP",action="Deploy",result="success"} 1',
  );
  expect(text).toContain(
    'kidp_broker_call_duration_seconds_count{broker="azure",channel="Kafka",action="Deploy",result="timeout"} 1',
  );
});

test('who gives up is not sent on to the next channel, and is nobody’s error', async () => {
  const registry = new Registry();
  const abort = new AbortController();
  const seen: string[] = [];
  const kafka = channel('Kafka', 'unavailable', seen);
  const stopping: Channel = {
    ...kafka,
    async send(...words) {
      abort.abort(new Error('stopping'));
      await kafka.send(...words);
    },
  };
  const { send } = dispatcher({
    kafka: stopping,
    http: channel('HTTP', 'works', seen),
    metrics: brokerCallMetrics(registry),
  });
  await expect(send(event, address('Both'), { signal: abort.signal })).rejects.toThrow('stopping');
  expect(seen).toEqual(['Kafka']);
  expect(await registry.metrics()).not.toContain('reason="');
});
