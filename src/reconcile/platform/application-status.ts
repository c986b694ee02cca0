/** How an Application fares: what it owns, by environment, and all of it together. */
import type { Application, DeploymentTarget } from '../../api/index.ts';
import type { Condition, DesiredCondition } from '../../runtime/index.ts';
import { describeObject, firstNames, type OwnedObject, type OwnerPath, type Phase } from './ownership.ts';

/** From worst to best. */
const phases: readonly Phase[] = ['failed', 'unknown', 'pending', 'deploying', 'ready'];
const mostEnvironments = 32;

interface Tally {
  readonly name: string;
  readonly phase: Phase;
  readonly total: number;
  readonly ready: number;
}

/** Those that the spec names, in its order, and after them others that something is deployed to. */
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
    // Where nothing is there is nothing that works either.
    return { name, phase: there.length === 0 ? 'pending' : worstPhase(there), total: there.length, ready };
  });
}

export function worstPhase(objects: readonly OwnedObject[]): Phase {
  const found = new Set(objects.map(phaseOf));
  return phases.find((phase) => found.has(phase)) ?? 'ready';
}

/** Before anybody has looked at it. */
const phaseOf = ({ status }: OwnedObject): Phase => status?.phase ?? 'pending';

/** Whether its owner leads to a Team, and to the one whose namespace it is in: `home` are the Teams that have it. */
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
      'spec.owner is not the owner that was recorded in status.owner: write the recorded one back, or create the Application anew',
    );
  }
  const owner = path.team;
  switch (path.end) {
    case 'none':
      return say('False', 'NoOwner', 'Nobody owns it, so nobody pays for it: create it anew with spec.owner');
    case 'missing':
      return say(
        'False',
        'OwnerNotFound',
        `${path.missing} does not exist (yet): create it, or create this anew under another owner`,
      );
    case 'cycle':
      return say('False', 'OwnerCycle', 'spec.owner leads back to where it began: let one of them be owned by a Team');
    default:
  }
  if (owner === undefined) return say('Unknown', 'Pending', '');
  if (home.length > 0 && !home.includes(owner.metadata.name)) {
    return say(
      'False',
      'OwnerOfAnotherTeam',
      `It belongs to Team ${owner.metadata.name}, and is in the namespace of Team ${home.join(', ')}: create it in namespace ${owner.spec.namespace}`,
    );
  }
  return say('True', 'OwnerFound', `It belongs to Team ${owner.metadata.name}`);
}

const describeOwner = (owner: Application['spec']['owner'], { namespace }: Application['metadata']) =>
  owner === undefined
    ? []
    : [owner.kind, owner.name, owner.kind === 'Team' ? undefined : (owner.namespace ?? namespace)];

/** All of it together: the worst comes first. */
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
      `${failed.length} of ${of} failed: ${firstNames(failed)}. Their conditions say what to change`,
    );
  }
  if (dependenciesBound?.status === 'False') return say('False', dependenciesBound.reason, dependenciesBound.message);
  if (unknown.length > 0) {
    return say(
      'Unknown',
      'ResourcesUnknown',
      `Of ${unknown.length} of ${of} nothing is known: ${firstNames(unknown)}. Their broker is being asked`,
    );
  }
  if (underWay.length > 0)
    return say('False', 'Progressing', `${underWay.length} of ${of} are under way: ${firstNames(underWay)}`);
  return say('True', 'ResourceReady', deployed.length === 0 ? 'It owns nothing yet' : `All of its ${of} are ready`);
}
