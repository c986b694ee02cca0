/** Builds the message of an outbox entry from the object when it is sent: the same entry gives the same message. */
import { createHash } from 'node:crypto';
import {
  type BoundConnection,
  type BrokerAddress,
  type DeploymentRequest,
  formatTraceparent,
  type ReplyTo,
  type RequestEvent,
  requestEvent,
} from '../../broker/index.ts';
import { bindingsIn } from '../bindings/index.ts';
import { type Deployable, type Facts, kindOf, type OutboxEntry } from './deployable.ts';

interface Reply {
  readonly statusUrl?: string;
  readonly encryptionKey?: Readonly<Record<string, unknown>> | undefined;
}

export function messageOf(
  object: Deployable,
  entry: OutboxEntry,
  facts: Facts,
  address: BrokerAddress,
  reply: Reply,
  now: number,
  sealed: Sealed = new Map(),
): RequestEvent {
  const { metadata, spec, status = {} } = object;
  const { action, deploymentId } = entry;
  const deploys = action === 'Deploy';
  const data: DeploymentRequest = {
    action,
    deploymentId,
    broker: address.name,
    ...formerBrokersOf(object),
    resource: {
      apiVersion: object.apiVersion,
      kind: kindOf(object),
      namespace: metadata.namespace ?? '',
      name: metadata.name,
      uid: metadata.uid ?? '',
      ...(metadata.generation === undefined ? {} : { generation: metadata.generation }),
    },
    ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
    ...(facts.owner.team === undefined ? {} : { team: facts.owner.team }),
    // A deleted target must not keep its broker from deleting the deployment.
    target: facts.target?.request ?? { name: status.targetRef?.name ?? '', provider: 'unknown' },
    ...(deploys ? { spec, bindings: bindingsOf(object, sealed) } : {}),
    ...(Object.keys(facts.owner.costTags).length === 0 ? {} : { costTags: facts.owner.costTags }),
    replyTo: replyTo(address, reply),
  };
  return requestEvent(data, {
    time: new Date(now),
    cause: { traceparent: traceOf(deploymentId), correlationid: deploymentId },
    ...(action === 'Query' ? { query: numberOf(entry) } : {}),
  });
}

/** The number of a query: the last part of its id. */
const numberOf = ({ id }: OutboxEntry): number => Number(id.slice(id.lastIndexOf('/') + 1));

function formerBrokersOf({ status }: Deployable): Pick<DeploymentRequest, 'formerBrokers'> {
  const { formerBrokers = [] } = status?.targetRef ?? {};
  return formerBrokers.length === 0 ? {} : { formerBrokers };
}

/** One trace per deployment, across senders and retries. */
export function traceOf(deploymentId: string): string {
  const digest = createHash('sha256').update(deploymentId).digest('hex');
  return formatTraceparent({ traceId: digest.slice(0, 32), parentId: digest.slice(32, 48), sampled: true });
}

/** Encrypted connection values by the name of the connection Secret. */
export type Sealed = ReadonlyMap<string, string>;

function bindingsOf(object: Deployable, sealed: Sealed): BoundConnection[] {
  const { metadata } = object;
  return bindingsIn(object).map(({ kind, namespace, name, connectionSecret, revision }) => ({
    kind,
    namespace,
    name,
    ...(connectionSecret === undefined
      ? {}
      : { secret: { namespace: metadata.namespace ?? '', name: connectionSecret, revision: revision ?? '' } }),
    ...credentialsFor(connectionSecret, sealed),
  }));
}

function credentialsFor(secret: string | undefined, sealed: Sealed): { readonly credentials?: string } {
  const credentials = secret === undefined ? undefined : sealed.get(secret);
  return credentials === undefined ? {} : { credentials };
}

function replyTo({ channel, kafka }: BrokerAddress, { statusUrl, encryptionKey }: Reply): ReplyTo {
  return {
    ...(channel === 'HTTP' ? {} : { statusTopic: kafka.statusTopic }),
    ...(statusUrl === undefined ? {} : { statusUrl }),
    ...(encryptionKey === undefined ? {} : { encryptionKey }),
  };
}
