/**
 * The preconditions of a deployment: admission, owner, target, broker, and required fields. Each becomes a condition
 * that says what to do.
 */
import { RETRY_ANNOTATION, TAKE_OVER_ANNOTATION } from '../../api/index.ts';
import { type DesiredCondition, getCondition } from '../../runtime/index.ts';
import { selectorKinds } from '../bindings/index.ts';
import type { BrokerFacts, Deployable, DeployableStatus, Facts } from './deployable.ts';

export interface Blocker {
  readonly reason: string;
  readonly message: string;
  /** An object that was admitted and ready before is still repaired. */
  readonly allowsRepairs?: boolean;
  /** Only a change of the object or of a policy helps. */
  readonly denies?: boolean;
}

interface Preconditions {
  /** The conditions Admitted, OwnerResolved and TargetResolved. */
  readonly conditions: readonly DesiredCondition[];
  /** The most important first. */
  readonly blockers: readonly Blocker[];
  /** The current or future broker. */
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

/** The limit of reasons listed in a message. */
const mostReasons = 8;

function admission(object: Deployable, { admission: answer }: Facts): Found {
  const recorded = recordedOwner(object.status ?? {});
  if (recorded !== undefined && !isSameOwner(recorded.owner, object.spec.owner, object.metadata.namespace)) {
    return found('Admitted', {
      reason: 'OwnerChanged',
      message: `spec.owner is ${named(object.spec.owner)}, but the recorded owner is ${named(recorded.owner)}: create a new object with the desired owner, and delete this one`,
      denies: true,
    });
  }
  if (answer.admitted === true) return fine('Admitted', 'Admitted');
  const reasons = answer.reasons.slice(0, mostReasons).join('; ');
  const more = answer.reasons.length > mostReasons ? `; and ${answer.reasons.length - mostReasons} more` : '';
  if (answer.admitted === 'unknown') {
    const message = `Policies are not synced yet, so the object cannot be admitted: ${reasons}`;
    return found('Admitted', { reason: 'PoliciesNotSynced', message }, 'Unknown');
  }
  const message = `Policies deny the stored object; change it or request an exception: ${reasons}${more}`;
  return found('Admitted', { reason: 'PolicyDenied', message, allowsRepairs: true, denies: true });
}

/**
 * `recordedOwner` returns the recorded owner, wrapped: an object deployed without an owner has the owner `undefined`.
 */
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
      return fine('OwnerResolved', 'NoOwner', 'spec.owner is not set: costs are not assigned to a team');
    case 'missing':
      return unresolved(
        'OwnerMissing',
        `${owner.path.at(-1)} does not exist: create it; nothing is deployed before that`,
      );
    default:
      return unresolved(
        'OwnerCycle',
        `spec.owner forms a cycle (${path}): make a Team the owner of one Application in it`,
      );
  }
}

const unresolved = (reason: string, message: string): Found =>
  found('OwnerResolved', { reason, message, allowsRepairs: true });

/**
 * The broker that received a deployment keeps it until the target is annotated for a takeover: a deployment has exactly
 * one broker.
 */
function targetOf(object: Deployable, { target, broker }: Facts): Found & { broker?: BrokerFacts | undefined } {
  const { spec, status = {} } = object;
  const lacking = (reason: string, message: string) => found('TargetResolved', { reason, message });
  const wanted = spec.targetRef?.name;
  if (wanted === undefined)
    return lacking('NoTarget', 'spec.targetRef must be set: name the DeploymentTarget to deploy to');
  if (target === undefined) {
    return lacking('TargetMissing', `DeploymentTarget ${wanted} does not exist: create it, or fix the name`);
  }
  const name = brokerNameOf(status, target);
  if (name === undefined) {
    return lacking('NoBroker', `DeploymentTarget ${wanted} has no Broker: set its spec.brokerRef`);
  }
  const known = broker(name);
  if (known === undefined) {
    const handed = name === target.broker ? '' : `, which has this deployment,`;
    const remedy =
      name === target.broker
        ? 'create it, or name another Broker in spec.brokerRef of the target'
        : `re-create it, or annotate DeploymentTarget ${wanted} with ${TAKE_OVER_ANNOTATION}: ${name} to let Broker ${target.broker} take over`;
    return lacking('BrokerMissing', `Broker ${name}${handed} does not exist: ${remedy}`);
  }
  if (known.paused) {
    return {
      ...lacking('BrokerPaused', `Broker ${name} is paused (spec.paused): the deployment waits until it is resumed`),
      broker: known,
    };
  }
  if (!isCapable(object, known)) {
    const wantedCapability = capabilityOf(object);
    return {
      ...lacking(
        'CapabilityMissing',
        `Broker ${name} has no capability ${wantedCapability} (it has ${known.capabilities?.join(', ') || 'none'}): choose another target, or add the capability to the Broker`,
      ),
      broker: known,
    };
  }
  if (name !== target.broker) {
    const message = `Broker ${name} keeps this deployment although DeploymentTarget ${wanted} now names Broker ${target.broker}; to let that Broker take over, annotate the target with ${TAKE_OVER_ANNOTATION}: ${name}`;
    return { ...fine('TargetResolved', 'BrokerChanged', message), broker: known };
  }
  return { ...fine('TargetResolved', 'TargetFound'), broker: known };
}

/** `brokerNameOf` returns the current broker; without one, or in a takeover, the broker of the target. */
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
  return { reason: 'NoImage', message: 'spec.image must be set before the Service is deployed' };
}

/**
 * Dependencies must be bound before the first deployment, so that it happens once and with them; later changes are
 * followed.
 */
function lacksBindings({ metadata, spec, status = {} }: Deployable): Blocker | undefined {
  if (Object.keys(spec.dependencies ?? {}).length === 0) return undefined;
  const bound = getCondition(status.conditions, 'DependenciesBound');
  const looked = bound !== undefined && (bound.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  if (!looked) return { reason: 'DependenciesPending', message: 'Dependencies are being resolved' };
  if (bound.status === 'True' || status.deploymentId !== undefined) return undefined;
  if (bound.reason === 'VariableConflict' && hasEnough(spec, status)) return undefined;
  return { reason: 'DependenciesUnbound', message: `Dependencies are not bound: ${bound.message}` };
}

/** Whether something is bound for each selector that needs it: then what was left out does not block the deployment. */
const hasEnough = ({ dependencies }: Deployable['spec'], { bindings = [] }: DeployableStatus): boolean =>
  Object.entries(dependencies ?? {}).every(
    ([field, selector]) =>
      (selector as { expect?: string }).expect === 'Any' || bindings.some(({ kind }) => kind === selectorKinds[field]),
  );

/** Whether the retry annotation asks for another attempt. */
export function retryWanted({ metadata, status }: Deployable): boolean {
  const wanted = retryValue(metadata.annotations);
  return wanted !== undefined && wanted !== status?.retried;
}

export const retryValue = (annotations: Readonly<Record<string, string>> | undefined): string | undefined =>
  annotations?.[RETRY_ANNOTATION]?.slice(0, 256);
