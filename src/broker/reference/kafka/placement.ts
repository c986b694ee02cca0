/** Decides on which servers the replicas of a topic are placed. These are pure functions. */
import { permanent } from '../provider.ts';

export interface Server {
  readonly id: number;
  /** Servers of one rack fail together. */
  readonly rack?: string | undefined;
}

/** The replicas of one partition. */
export interface Placement {
  readonly partition: number;
  /** The servers with a replica once pending reassignments are done, the preferred leader first. */
  readonly servers: readonly number[];
  /** The current leader. */
  readonly leader: number;
  /** The in-sync replicas. */
  readonly inSync: readonly number[];
  /** The servers of `servers` that are still being added by a reassignment. */
  readonly adding: readonly number[];
}

/**
 * `planPlacement` returns the partitions whose replicas must change to reach the replication factor, and their new servers. It moves as
 * little as possible: existing replicas stay. Throws a `ProviderFailure` if too few servers are up.
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
      `topic ${topic} needs ${replication} Kafka servers, but ${up.length} are up: set spec.replication to ${up.length} or less, or start more servers and then set the annotation platform.company.com/retry of the Topic to a new value`,
    );
  }
  const load = new Map<number, number>();
  const carry = (id: number) => load.set(id, (load.get(id) ?? 0) + 1);
  for (const { kept } of reduced) kept.forEach(carry);
  const sorted = [...up].sort((a, b) => a.id - b.id);
  // The offset depends on the topic: otherwise all topics with one partition would end up on the same server.
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
 * `kept` selects the replicas that stay: first the leader, then in-sync replicas, then servers that are up. It keeps their order, because
 * the first one is the preferred leader. A server that went down while it was being added is dropped: it has no messages to wait for.
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

/** `pickServer` prefers the rack with the fewest replicas, then the server with the fewest replicas of the topic, then round-robin. */
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
