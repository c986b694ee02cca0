/**
 * What stands in the way of a deployment: admission, owner, target, broker and what the object itself lacks, each as a condition
 * that says what to do.
 */
import { RETRY_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../api/index.ts';
import { type DesiredCondition, getCondition } from '../../runtime/index.ts';
import type { BrokerFacts, Deployable, DeployableStatus, Facts } from './deployable.ts';

export interface Blocker {
  readonly reason: string;
  readonly message: string;
  /** What was let in and ready before is kept in repair all the same. */
  readonly allowsRepairs?: boolean;
  /** Only somebody's change of the object or of a policy will help. */
  readonly denies?: boolean;
}

interface Preconditions {
  /** Admitted, OwnerResolved, TargetResolved. */
  readonly conditions: readonly DesiredCondition[];
  /** In order of weight. */
  readonly blockers: readonly Blocker[];
  /** Who has it, or shall have it. */
  readonly broker: BrokerFacts | undefined;
}

export function preconditionsOf(object: Deployable, facts: Facts): Preconditions {
  const admitted = admission(object, facts);
  const owner = ownerOf(facts);
  const target = targetOf(object, facts);
  return {
    conditions: [admitted.condition, owner.condition, target.condition],
    blockers: [admitted.blocker, owner.blocker, target.blocker, lacksImage(object), lacksBindings(object)].filter(
      (blocker) => blocker !== undefined,
    ),
    broker: target.broker,
  };
}

interface Found {
  readonly condition: DesiredCondition;
  readonly blocker?: Blocker | undefined;
}

function found(
  type: string,
  blocker: Blocker,
  status: 'False' | 'Unknown' = 'False',
): { condition: DesiredCondition; blocker: Blocker } {
  return { condition: { type, status, reason: blocker.reason, message: blocker.message }, blocker };
}

const fine = (type: string, reason: string, message = ''): Found => ({
  condition: { type, status: 'True', reason, message },
});

/** A message is no place for a hundred reasons. */
const mostReasons = 8;

function admission(object: Deployable, { admission: answer }: Facts): Found {
  const recorded = recordedOwner(object.status ?? {});
  if (recorded !== undefined && !isSameOwner(recorded.owner, object.spec.owner, object.metadata.namespace)) {
    return found('Admitted', {
      reason: 'OwnerChanged',
      message: `spec.owner is ${named(object.spec.owner)}, and ${named(recorded.owner)} was recorded when the platform took charge: create the object anew under the owner that it shall have, and delete this one`,
      denies: true,
    });
  }
  if (answer.admitted === true) return fine('Admitted', 'Admitted');
  const reasons = answer.reasons.slice(0, mostReasons).join('; ');
  const more = answer.reasons.length > mostReasons ? `; and ${answer.reasons.length - mostReasons} more` : '';
  if (answer.admitted === 'unknown') {
    const message = `nothing is deployed before it is known whether policy lets it in: ${reasons}`;
    return found('Admitted', { reason: 'PoliciesNotSynced', message }, 'Unknown');
  }
  const message = `it would be denied as it is now, change it or ask for an exception: ${reasons}${more}`;
  return found('Admitted', { reason: 'PolicyDenied', message, allowsRepairs: true, denies: true });
}

/** The owner that was written down; that of an object that was deployed without one is `undefined` in a box. */
export function recordedOwner(status: DeployableStatus): { owner: DeployableStatus['owner'] } | undefined {
  return status.owner === undefined && status.deploymentId === undefined ? undefined : { owner: status.owner };
}

type Owner = Deployable['spec']['owner'];

function isSameOwner(one: Owner, other: Owner, namespace: string | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const place = (owner: NonNullable<Owner>) => (owner.kind === 'Team' ? '' : (owner.namespace ?? namespace));
  return one.kind === other.kind && one.name === other.name && place(one) === place(other);
}

const named = (owner: Owner): string =>
  owner === undefined
    ? 'no owner'
    : `${owner.kind} ${owner.namespace === undefined ? '' : `${owner.namespace}/`}${owner.name}`;

function ownerOf({ owner }: Facts): Found {
  const path = owner.path.join(' → ');
  switch (owner.end) {
    case 'team':
      return fine('OwnerResolved', 'OwnerFound', path);
    case 'none':
      return fine('OwnerResolved', 'NoOwner', 'nobody is named in spec.owner: no team is charged for it');
    case 'missing':
      return unresolved('OwnerMissing', `${owner.path.at(-1)} does not exist: create it, nothing is deployed before`);
    default:
      return unresolved(
        'OwnerCycle',
        `spec.owner leads back to where it began (${path}): let one of them be owned by a Team`,
      );
  }
}

const unresolved = (reason: string, message: string): Found =>
  found('OwnerResolved', { reason, message, allowsRepairs: true });

/** The broker that it was handed to keeps it, until somebody says at the target that another takes over: a thing has one master. */
function targetOf(object: Deployable, { target, broker }: Facts): Found & { broker?: BrokerFacts | undefined } {
  const { spec, status = {} } = object;
  const lacking = (reason: string, message: string) => found('TargetResolved', { reason, message });
  const wanted = spec.targetRef?.name;
  if (wanted === undefined)
    return lacking('NoTarget', 'spec.targetRef is missing: name the DeploymentTarget to deploy to');
  if (target === undefined) {
    return lacking('TargetMissing', `there is no DeploymentTarget ${wanted}: create it, or see how it is spelt`);
  }
  const name = brokerNameOf(status, target);
  if (name === undefined) {
    return lacking('NoBroker', `DeploymentTarget ${wanted} names no Broker: set its spec.brokerRef`);
  }
  const known = broker(name);
  if (known === undefined) {
    const handed = name === target.broker ? '' : `, which this was handed to,`;
    const remedy =
      name === target.broker
        ? 'create it, or name another in spec.brokerRef of the target'
        : `create it again, or annotate DeploymentTarget ${wanted} with ${TAKE_OVER_ANNOTATION}: ${name} to have Broker ${target.broker} take over`;
    return lacking('BrokerMissing', `there is no Broker ${name}${handed}: ${remedy}`);
  }
  if (known.paused) {
    return {
      ...lacking('BrokerPaused', `Broker ${name} is paused (spec.paused): work waits until it goes on`),
      broker: known,
    };
  }
  if (!isCapable(object, known)) {
    const wantedCapability = capabilityOf(object);
    return {
      ...lacking(
        'CapabilityMissing',
        `Broker ${name} does not bring about ${wantedCapability} (it has ${known.capabilities?.join(', ') || 'nothing'}): choose another target, or add the capability to the Broker`,
      ),
      broker: known,
    };
  }
  if (name !== target.broker) {
    const message = `Broker ${name} has it, and DeploymentTarget ${wanted} now names Broker ${target.broker}: it stays where it is; to have it taken over, annotate the target with ${TAKE_OVER_ANNOTATION}: ${name}`;
    return { ...fine('TargetResolved', 'BrokerChanged', message), broker: known };
  }
  return { ...fine('TargetResolved', 'TargetFound'), broker: known };
}

/** Who has it; where nobody has, or what they had is taken over, the one that the target names. */
export function brokerNameOf(status: DeployableStatus, target: Facts['target']): string | undefined {
  const has = status.deploymentId === undefined ? undefined : status.targetRef?.broker;
  if (has === undefined || target === undefined) return has ?? target?.broker;
  return target.broker !== undefined && target.takesOver.includes(has) ? target.broker : has;
}

const variantFields: Readonly<Record<string, string>> = { Database: 'engine', Cache: 'engine', Topic: 'type' };

function capabilityOf({ kind, spec }: Deployable): string {
  const variant = spec[variantFields[kind] ?? ''];
  return typeof variant === 'string' ? `${kind}/${variant}` : kind;
}

function isCapable(object: Deployable, { capabilities }: BrokerFacts): boolean {
  if (capabilities === undefined || capabilities.includes(object.kind)) return true;
  const wanted = capabilityOf(object);
  return wanted === object.kind
    ? capabilities.some((each) => each.startsWith(`${object.kind}/`))
    : capabilities.includes(wanted);
}

function lacksImage({ kind, spec }: Deployable): Blocker | undefined {
  if (kind !== 'Service' || typeof spec.image === 'string') return undefined;
  return { reason: 'NoImage', message: 'spec.image is missing: nothing is deployed until it is filled in' };
}

/** What it uses is looked for first, so that it is deployed once and with it; afterwards what comes and goes is followed. */
function lacksBindings({ metadata, spec, status = {} }: Deployable): Blocker | undefined {
  if (Object.keys(spec.dependencies ?? {}).length === 0) return undefined;
  const bound = getCondition(status.conditions, 'DependenciesBound');
  const looked = bound !== undefined && (bound.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  if (!looked) return { reason: 'DependenciesPending', message: 'what it uses is being looked for' };
  if (bound.status === 'True' || status.deploymentId !== undefined) return undefined;
  return { reason: 'DependenciesUnbound', message: `what it uses is not there: ${bound.message}` };
}

/** Somebody wants it tried again. */
export function retryWanted({ metadata, status }: Deployable): boolean {
  const wanted = retryValue(metadata.annotations);
  return wanted !== undefined && wanted !== status?.retried;
}

export const retryValue = (annotations: Readonly<Record<string, string>> | undefined): string | undefined =>
  annotations?.[RETRY_ANNOTATION]?.slice(0, 256);
