/** The status of an Application: its owned resources per environment, and the overall readiness. */
import type { Application, DeploymentTarget } from '../../api/index.ts';
import type { Condition, DesiredCondition } from '../../runtime/index.ts';
import { describeObject, firstNames, type OwnedObject, type OwnerPath, type Phase } from './ownership.ts';

/** Phases from worst to best. */
const phases: readonly Phase[] = ['failed', 'unknown', 'pending', 'deploying', 'ready'];
const mostEnvironments = 32;

interface Tally {
  readonly name: string;
  readonly phase: Phase;
  readonly total: number;
  readonly ready: number;
}

/**
 * `environmentsOf` lists the environments named in the spec in their order, followed by others with deployed resources.
 */
export function environmentsOf(
  { spec }: Application,
  deployed: readonly OwnedObject[],
  target: (name: string) => DeploymentTarget | undefined,
): Tally[] {
  const named = spec.environments ?? [];
  const byTarget = new Map(
    named.flatMap(({ name, targetRef }) => (targetRef === undefined ? [] : [[targetRef.name, name]])),
  );
  const groups = Map.groupBy(deployed, (object) => {
    const aim = object.spec.targetRef?.name;
    return aim === undefined ? undefined : (byTarget.get(aim) ?? target(aim)?.spec.environment);
  });
  const names = new Set([
    ...named.map(({ name }) => name),
    ...[...groups.keys()].filter((name) => name !== undefined).sort(),
  ]);
  return [...names].slice(0, mostEnvironments).map((name) => {
    const there = groups.get(name) ?? [];
    const ready = there.filter((object) => phaseOf(object) === 'ready').length;
    // An environment without resources is pending: nothing in it works yet.
    return { name, phase: there.length === 0 ? 'pending' : worstPhase(there), total: there.length, ready };
  });
}

export function worstPhase(objects: readonly OwnedObject[]): Phase {
  const found = new Set(objects.map(phaseOf));
  return phases.find((phase) => found.has(phase)) ?? 'ready';
}

/** An object without a status is pending. */
const phaseOf = ({ status }: OwnedObject): Phase => status?.phase ?? 'pending';

/** `ownerResolved` checks that the owner chain ends at a Team, and at the Team that has this namespace (`home`). */
export function ownerResolved(
  { spec, status, metadata }: Application,
  path: OwnerPath,
  home: readonly string[],
): DesiredCondition {
  const say = (status: DesiredCondition['status'], reason: string, message: string) => ({
    type: 'OwnerResolved',
    status,
    reason,
    message,
  });
  const recorded = status?.owner;
  if (
    recorded !== undefined &&
    JSON.stringify(describeOwner(recorded, metadata)) !== JSON.stringify(describeOwner(spec.owner, metadata))
  ) {
    return say(
      'False',
      'OwnerChanged',
      'spec.owner differs from the recorded owner in status.owner: restore the recorded owner, or re-create the Application',
    );
  }
  const owner = path.team;
  switch (path.end) {
    case 'none':
      return say(
        'False',
        'NoOwner',
        'The Application has no owner and its costs are not assigned to a team: re-create it with spec.owner set',
      );
    case 'missing':
      return say(
        'False',
        'OwnerNotFound',
        `${path.missing} does not exist: create it, or re-create this Application under another owner`,
      );
    case 'cycle':
      return say('False', 'OwnerCycle', 'spec.owner forms a cycle: make a Team the owner of one Application in it');
    default:
  }
  if (owner === undefined) return say('Unknown', 'Pending', '');
  if (home.length > 0 && !home.includes(owner.metadata.name)) {
    return say(
      'False',
      'OwnerOfAnotherTeam',
      `The owner is Team ${owner.metadata.name}, but the namespace belongs to Team ${home.join(', ')}: create the Application in namespace ${owner.spec.namespace}`,
    );
  }
  return say('True', 'OwnerFound', `Owned by Team ${owner.metadata.name}`);
}

const describeOwner = (owner: Application['spec']['owner'], { namespace }: Application['metadata']) =>
  owner === undefined
    ? []
    : [owner.kind, owner.name, owner.kind === 'Team' ? undefined : (owner.namespace ?? namespace)];

/** `applicationReady` summarizes owner, resources and dependencies; the worst finding decides. */
export function applicationReady(
  deployed: readonly OwnedObject[],
  owner: DesiredCondition,
  dependenciesBound: Condition | undefined,
): DesiredCondition {
  const say = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
    type: 'Ready',
    status,
    reason,
    message,
  });
  if (owner.status !== 'True') return say(owner.status, owner.reason, owner.message ?? '');
  const inPhase = (...wanted: Phase[]) =>
    deployed.filter((object) => wanted.includes(phaseOf(object))).map(describeObject);
  const [failed, unknown, underWay] = [inPhase('failed'), inPhase('unknown'), inPhase('pending', 'deploying')];
  const of = `${deployed.length} resource${deployed.length === 1 ? '' : 's'}`;
  if (failed.length > 0) {
    return say(
      'False',
      'ResourcesFailed',
      `${failed.length} of ${of} failed: ${firstNames(failed)}. See their conditions`,
    );
  }
  if (dependenciesBound?.status === 'False') return say('False', dependenciesBound.reason, dependenciesBound.message);
  if (unknown.length > 0) {
    return say(
      'Unknown',
      'ResourcesUnknown',
      `The state of ${unknown.length} of ${of} is unknown: ${firstNames(unknown)}. Their broker is being queried`,
    );
  }
  if (underWay.length > 0)
    return say('False', 'Progressing', `${underWay.length} of ${of} are in progress: ${firstNames(underWay)}`);
  return say(
    'True',
    'ResourceReady',
    deployed.length === 0 ? 'The Application has no resources yet' : `All ${of} are ready`,
  );
}
