/** The receiver of reports: a real status API that keeps the reports and the reasons of refused ones. */
import { Registry } from 'prom-client';
import type { Broker } from '../../api/index.ts';
import { silentLogger } from '../../runtime/index.ts';
import { type BrokerVerifier, brokerVerifier, IdentityError } from '../identity/index.ts';
import type { BrokerEvent, StatusReport } from '../messages.ts';
import { startStatusApi } from '../status-api/index.ts';
import { keySetOf, type SigningIdentity } from './identity.ts';

export interface Receiver {
  readonly url: string;
  readonly events: readonly BrokerEvent[];
  /** Why reports were refused. */
  readonly refusals: readonly string[];
  readonly verifier: BrokerVerifier;
  /** Adds an event that arrived through Kafka. */
  receive(event: BrokerEvent): void;
  refuse(why: string): void;
  /** The reports of an object, in the order of arrival. */
  reportsOf(uid: string): { readonly event: BrokerEvent; readonly report: StatusReport }[];
  stop(): Promise<void>;
}

interface ReceiverOptions {
  readonly identity: SigningIdentity;
  readonly broker: string;
  /** The address of the broker's key set. */
  readonly jwksUri: string;
  readonly host: string;
  readonly port: number;
  /** The issuer in the broker's tokens. Default: its name. */
  readonly brokerIssuer?: string | undefined;
  readonly insecureHttp?: boolean | undefined;
}

export async function startReceiver(options: ReceiverOptions): Promise<Receiver> {
  const { identity, broker, jwksUri } = options;
  const object = {
    apiVersion: 'platform.company.com/v1',
    kind: 'Broker',
    metadata: { name: broker },
    spec: { channel: 'Both', identity: { issuer: options.brokerIssuer ?? broker, jwksUri } },
  } as unknown as Broker;
  const verifier = brokerVerifier({
    broker: ({ issuer }) => (issuer === (options.brokerIssuer ?? broker) ? object : undefined),
    audience: identity.issuer,
    log: silentLogger,
    ...(options.insecureHttp === undefined ? {} : { insecureHttp: options.insecureHttp }),
  });
  const events: BrokerEvent[] = [];
  const refusals: string[] = [];
  const api = await startStatusApi({
    host: options.host,
    port: options.port,
    verifier: {
      ...verifier,
      async token(bearer, scope) {
        try {
          return await verifier.token(bearer, scope);
        } catch (error) {
          refusals.push(error instanceof IdentityError ? `${error.reason}: ${error.message}` : String(error));
          throw error;
        }
      },
    },
    sink: {
      async receive(event) {
        events.push(event);
        return { result: 'applied' };
      },
    },
    jwks: () => keySetOf(identity),
    rateLimit: () => ({ requestsPerSecond: 10_000, burst: 10_000 }),
    registry: new Registry(),
    log: silentLogger,
  });
  return {
    url: api.url,
    events,
    refusals,
    verifier,
    receive: (event) => void events.push(event),
    refuse: (why) => void refusals.push(why),
    reportsOf: (uid) =>
      events.flatMap((event) =>
        'phase' in event.data && event.data.resource.uid === uid ? [{ event, report: event.data }] : [],
      ),
    stop: () => api.stop(),
  };
}
