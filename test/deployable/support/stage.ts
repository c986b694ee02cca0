/** The deployable reconcilers on a real API server, with a broker in this process in place of Kafka and HTTP. */
import { Registry } from 'prom-client';
import { broker, deployableKinds, deploymentTarget, type Kind, kindNamed } from '../../../src/api/index.ts';
import {
  ChannelError,
  type Dispatcher,
  type ReportedPhase,
  type ReportOutcome,
  type ReportSink,
  type RequestEvent,
  reportTaker,
  type StatusReport,
  statusEvent,
} from '../../../src/broker/index.ts';
import { addDeployableReconcilers, type Deployable, type DeployableOptions } from '../../../src/reconcile/index.ts';
import {
  type Client,
  type Condition,
  type EventInput,
  getCondition,
  type Logger,
  Manager,
  silentLogger,
} from '../../../src/runtime/index.ts';
import { eventually } from '../../../src/runtime/testing/index.ts';

/** A machine that does much else at the same time. */
export const patient = { within: 180_000, every: 50 };

export interface Running {
  readonly sink: ReportSink;
  readonly registry: Registry;
  readonly events: EventInput[];
  readonly audit: Record<string, unknown>[];
  stop(): Promise<void>;
}

/** What was sent, and how it is answered. */
export class StageBroker {
  readonly sent: RequestEvent[] = [];
  readonly ledger: string[] = [];
  readonly #name: string;
  readonly #newest = new Map<string, RequestEvent>();
  #sequence = 0;
  /** Fails every send while it is set. */
  down: ChannelError | undefined;
  /** How each new deployment is answered, one report after the other. */
  answers: (event: RequestEvent) => readonly Partial<StatusReport>[] = () => [{ phase: 'accepted' }];
  /** Whoever is running takes the reports. */
  sink: ReportSink | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  readonly dispatcher: Dispatcher = {
    send: async (event) => {
      if (this.down !== undefined) throw this.down;
      this.sent.push(event);
      const { action, deploymentId, resource } = event.data;
      if (action !== 'Query') {
        if (this.ledger.includes(deploymentId)) return { channel: 'Kafka' };
        this.ledger.push(deploymentId);
        this.#newest.set(resource.uid, event);
      }
      void this.#answer(event);
      return { channel: 'Kafka' };
    },
  };

  /** After it was acknowledged, one report after the other. */
  async #answer(event: RequestEvent): Promise<void> {
    const answers = this.answers(event);
    await new Promise((resolve) => setImmediate(resolve));
    for (const answer of answers) await this.report(event, answer).catch(() => {});
  }

  /** Reports, again and again until it is taken. */
  async report(event: RequestEvent, said: Partial<StatusReport>, from = this.#name): Promise<ReportOutcome> {
    this.#sequence += 1;
    const { deploymentId, resource } = event.data;
    const phase: ReportedPhase = said.phase ?? 'ready';
    const report = { broker: from, deploymentId, resource, sequence: this.#sequence, phase, ...said };
    const reported = statusEvent(report, { cause: event });
    return eventually(async () => {
      if (this.sink === undefined) throw new Error('nobody takes reports');
      return this.sink.receive(reported, { name: from, channel: 'HTTP' });
    }, patient);
  }

  /** What an object is about to be asked for stands in its status before it is sent. */
  newestOf({ metadata }: Deployable): Promise<RequestEvent> {
    return eventually(() => {
      const found = this.#newest.get(metadata.uid ?? '');
      if (found === undefined) throw new Error(`nothing of ${metadata.name} was sent`);
      return found;
    }, patient);
  }

  of(name: string): RequestEvent[] {
    return this.sent.filter(({ data }) => data.resource.name === name);
  }
}

/** Ready at once, gone at once. */
export const obliging = ({ data }: RequestEvent): readonly Partial<StatusReport>[] => [
  { phase: 'accepted' },
  { phase: data.action === 'Delete' ? 'deleted' : 'ready', outputs: { host: `${data.resource.name}.example.com` } },
];

export const unavailable = () =>
  new ChannelError({ channel: 'HTTP', failure: 'unavailable', message: 'connect ECONNREFUSED' });

export async function startReconcilers(
  client: Client,
  from: StageBroker,
  options: Partial<DeployableOptions> = {},
): Promise<Running> {
  const audit: Record<string, unknown>[] = [];
  const log: Logger = {
    ...silentLogger,
    info: (message, fields) => void (fields?.audit === true && audit.push({ message, ...fields })),
    warn: (message, fields) => void (fields?.audit === true && audit.push({ message, ...fields })),
    with: () => log,
  };
  const registry = new Registry();
  const events: EventInput[] = [];
  const manager = new Manager({ client, log, registry, stopMilliseconds: 5_000 });
  const { sink: taking } = addDeployableReconcilers(manager, {
    dispatcher: from.dispatcher,
    gate: async () => ({ admitted: true }),
    platform: {},
    registry,
    recorder: { record: (event) => void events.push(event) },
    settings: { retryMilliseconds: 50, longestRetryMilliseconds: 500, receiptMilliseconds: 200 },
    ...options,
  });
  // As the consumer of Kafka and the status API deliver it.
  const sink: ReportSink = { receive: reportTaker({ sink: taking, log }) };
  from.sink = sink;
  const stopping = new AbortController();
  const running = manager.start(stopping.signal);
  return {
    sink,
    registry,
    events,
    audit,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

export const kindOf = (name: string): Kind => {
  const kind = kindNamed(name);
  if (kind === undefined) throw new Error(`there is no kind ${name}`);
  return kind;
};

/** The least that each kind needs. */
const specs: Readonly<Record<string, object>> = { Service: { image: 'registry.example.com/a:1' } };
export const deployable = (kind: string, name: string, namespace: string, more: object = {}): Deployable => ({
  apiVersion: 'platform.company.com/v1',
  kind,
  metadata: { name, namespace },
  spec: { targetRef: { name: 'target' }, ...specs[kind], ...more },
});

export async function addTarget(client: Client, name: string, brokerName?: string): Promise<void> {
  const spec = { provider: 'test', ...(brokerName === undefined ? {} : { brokerRef: { name: brokerName } }) };
  const object = { apiVersion: 'platform.company.com/v1', kind: 'DeploymentTarget', metadata: { name }, spec };
  await client.apply(deploymentTarget.resource, object, { fieldManager: 'test', force: true });
}

export async function addBroker(client: Client, name: string, more: object = {}): Promise<void> {
  const spec = { channel: 'HTTP', endpoint: 'http://broker.example.com', ...more };
  const object = { apiVersion: 'platform.company.com/v1', kind: 'Broker', metadata: { name }, spec };
  await client.apply(broker.resource, object, { fieldManager: 'test', force: true });
}

export interface Objects {
  get(kind: string, name: string): Promise<Deployable>;
  /** Resolves once the condition holds; fails with the current object. */
  until(kind: string, name: string, holds: (object: Deployable) => boolean): Promise<Deployable>;
  condition(kind: string, name: string, type: string): Promise<Condition | undefined>;
  gone(kind: string, name: string): Promise<void>;
  annotate(kind: string, name: string, annotations: Record<string, string>): Promise<void>;
}

export function objectsIn(client: Client, namespace: string): Objects {
  const get = (kind: string, name: string) => client.get<Deployable>(kindOf(kind).resource, { namespace, name });
  return {
    get,
    until: (kind, name, holds) =>
      eventually(async () => {
        const object = await get(kind, name);
        if (holds(object)) return object;
        throw new Error(`${kind} ${name} is not so: ${JSON.stringify(object.status)}`);
      }, patient),
    condition: async (kind, name, type) =>
      getCondition((await get(kind, name)).status?.conditions as Condition[], type),
    gone: async (kind, name) => {
      await eventually(async () => {
        const { items } = await client.list(kindOf(kind).resource, {
          namespace,
          fieldSelector: `metadata.name=${name}`,
        });
        return items.length === 0;
      }, patient);
    },
    annotate: async (kind, name, annotations) => {
      await client.patch(
        kindOf(kind).resource,
        { namespace, name },
        { type: 'merge', body: { metadata: { annotations } } },
      );
    },
  };
}

export const allKinds = deployableKinds.map(({ kind }) => kind);
