/** On which servers the messages of a topic are to be: nothing is asked and nothing is done here. */
import { permanent } from '../provider.ts';

export interface Server {
  readonly id: number;
  /** Servers of one rack fail together. */
  readonly rack?: string | undefined;
}

/** Of one partition. */
export interface Placement {
  readonly partition: number;
  /** Those it is on, or will be on when what is under way is done; who is to lead comes first. */
  readonly servers: readonly number[];
  /** Who leads now. */
  readonly leader: number;
  /** Who has all messages. */
  readonly inSync: readonly number[];
  /** Those of `servers` that are only being given them. */
  readonly adding: readonly number[];
}

/**
 * The partitions that have to be on other servers for each message to be on so many, and on which. As little as possible is moved:
 * those that have them keep them. Throws a `ProviderFailure` where too few servers are up.
 */
export function planPlacement(
  topic: string,
  present: readonly Placement[],
  replication: number,
  up: readonly Server[],
): ReadonlyMap<number, readonly number[]> {
  const isUp = new Set(up.map(({ id }) => id));
  const reduced = present.map((each) => ({ ...each, kept: kept(each, replication, isUp) }));
  if (up.length < replication && reduced.some((each) => each.kept.length < replication)) {
    throw permanent(
      'invalid-replication-factor',
      `topic ${topic} is to have each message on ${replication} servers and ${up.length} of Kafka are up: set spec.replication to ${up.length} or less, or start more and then set the annotation platform.company.com/retry of the Topic to another value`,
    );
  }
  const load = new Map<number, number>();
  const carry = (id: number) => load.set(id, (load.get(id) ?? 0) + 1);
  for (const { kept } of reduced) kept.forEach(carry);
  const sorted = [...up].sort((a, b) => a.id - b.id);
  // Else all topics of one partition would be given to the same server.
  const first = [...topic].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
  const changes = new Map<number, readonly number[]>();
  for (const { partition, servers, kept } of reduced) {
    const chosen = [...kept];
    while (chosen.length < replication) {
      const next = pickServer(sorted, chosen, load, first + partition);
      if (next === undefined) break;
      chosen.push(next);
      carry(next);
    }
    if (chosen.join() !== servers.join()) changes.set(partition, chosen);
  }
  return changes;
}

/**
 * Who leads stays, then who has all messages, then who is up; the last ones go. The order stays: it says who is to lead. Who went down
 * before it was given anything would be waited for in vain.
 */
function kept(
  { servers, leader, inSync, adding }: Placement,
  replication: number,
  isUp: ReadonlySet<number>,
): number[] {
  const worth = (id: number) => (id === leader ? 4 : 0) + (inSync.includes(id) ? 2 : 0) + (isUp.has(id) ? 1 : 0);
  const of = servers.filter((id) => isUp.has(id) || !adding.includes(id));
  const stay = new Set([...of].sort((a, b) => worth(b) - worth(a)).slice(0, replication));
  return of.filter((id) => stay.has(id));
}

/** In a rack that has it least, then who has least of the topic, then in turn. */
function pickServer(
  up: readonly Server[],
  chosen: readonly number[],
  load: ReadonlyMap<number, number>,
  turn: number,
): number | undefined {
  const racks = up.filter(({ id }) => chosen.includes(id)).map(({ rack }) => rack);
  const rank = ({ id, rack }: Server, index: number) => [
    rack === undefined ? 0 : racks.filter((each) => each === rack).length,
    load.get(id) ?? 0,
    (index + up.length - (turn % up.length)) % up.length,
  ];
  const ranked = up
    .map((server, index) => ({ id: server.id, rank: rank(server, index) }))
    .filter(({ id }) => !chosen.includes(id))
    .sort((a, b) => compare(a.rank, b.rank));
  return ranked[0]?.id;
}

function compare(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
