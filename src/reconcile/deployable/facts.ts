/** Gathers the facts of a decision from the caches: owners, target and brokers. */
import {
  type Broker,
  broker as brokerKind,
  type DeploymentTarget,
  deploymentTarget,
  TAKE_OVER_ANNOTATION,
} from '../../api/index.ts';
import { publishedIdentity } from '../../broker/index.ts';
import type { KubernetesObject, ReadonlyStore, Resource } from '../../runtime/index.ts';
import {
  cachedOwnership,
  costTagsOf,
  type OwnedObject,
  type OwnershipView,
  ownerPath,
  payersOf,
} from '../platform/ownership.ts';
import { millisecondsOf } from './backoff.ts';
import type { BrokerFacts, Deployable, Facts, OwnerFacts, TargetFacts } from './deployable.ts';

export type Stores = <T extends KubernetesObject>(resource: Resource) => ReadonlyStore<T>;

/** All facts except the admission decision. */
type Surroundings = Omit<Facts, 'admission' | 'settings'>;

export function surroundingsOf(object: Deployable, stores: Stores): Surroundings {
  const name = object.spec.targetRef?.name ?? object.status?.targetRef?.name;
  const target = name === undefined ? undefined : stores<DeploymentTarget>(deploymentTarget.resource).get({ name });
  const brokers = stores<Broker>(brokerKind.resource);
  return {
    owner: ownerFacts(object, cachedOwnership(stores)),
    target: target === undefined ? undefined : targetFacts(target),
    broker: (wanted) => {
      const found = brokers.get({ name: wanted });
      return found === undefined ? undefined : brokerFacts(found);
    },
  };
}

function ownerFacts(object: Deployable, view: OwnershipView): OwnerFacts {
  const owned = object as unknown as OwnedObject;
  const { end, team, applications, missing } = ownerPath(owned, view);
  const { team: payer } = payersOf(owned, view);
  const path = [
    ...applications.map((each) => `Application ${each}`),
    ...(team === undefined ? [] : [`Team ${team.metadata.name}`]),
    ...(missing === undefined ? [] : [missing]),
  ];
  return {
    end,
    path,
    costTags: costTagsOf(owned, view),
    ...(payer === undefined ? {} : { team: payer.spec.namespace }),
  };
}

function targetFacts({ metadata, spec }: DeploymentTarget): TargetFacts {
  const { provider, region, environment, parameters, brokerRef } = spec;
  const takesOver = (metadata.annotations?.[TAKE_OVER_ANNOTATION] ?? '').split(',').map((name) => name.trim());
  return {
    request: {
      name: metadata.name,
      provider,
      ...(region === undefined ? {} : { region }),
      ...(environment === undefined ? {} : { environment }),
      ...(parameters === undefined ? {} : { parameters }),
    },
    ...(brokerRef === undefined ? {} : { broker: brokerRef.name }),
    takesOver: takesOver.filter((name) => name !== ''),
  };
}

/** Each version of a Broker is read once, however many objects use it. */
const known = new WeakMap<Broker, BrokerFacts>();

function brokerFacts(object: Broker): BrokerFacts {
  const facts = known.get(object) ?? readBroker(object);
  known.set(object, facts);
  return facts;
}

function readBroker(object: Broker): BrokerFacts {
  const { metadata, spec, status } = object;
  const capabilities = spec.capabilities ?? status?.capabilities;
  const { channel, endpoint, kafka } = spec;
  const { caBundle } = publishedIdentity(object);
  return {
    address: {
      name: metadata.name,
      channel,
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(caBundle === undefined ? {} : { caBundle }),
      kafka,
    },
    paused: spec.paused === true,
    ...(capabilities === undefined ? {} : { capabilities }),
    ...(status?.lastHeartbeatTime === undefined ? {} : { heardAt: millisecondsOf(status.lastHeartbeatTime) }),
  };
}
