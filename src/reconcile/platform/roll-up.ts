/** Summaries for Teams and Applications: counts, phases and costs of their resources, from caches only. */
import { isDeepStrictEqual } from 'node:util';
import { TEAM_LABEL } from '../../api/index.ts';
import type { IndexFunction, Predicate } from '../../runtime/index.ts';
import type { Caches, Selection } from '../../runtime/internal.ts';
import type { CostConfigMap } from '../costs/entry-store.ts';
import { asMonthlyCost, readSettled, type SettledCost, settledSelector } from '../costs/settled.ts';
import { totalCosts } from '../costs/totals.ts';
import type { MonthlyCost, OwnedObject } from './ownership.ts';
import { configMaps } from './resources.ts';

const byTeam: IndexFunction<CostConfigMap> = ({ metadata }) => {
  const team = metadata.labels?.[TEAM_LABEL];
  return team === undefined ? [] : [team];
};

/** Selects the ConfigMaps with the settled costs of deleted resources. */
export const settledSelection = (platformNamespace: string) => ({
  ...selectionIn(platformNamespace),
  indexes: { 'kidp-team': byTeam },
});

const selectionIn = (platformNamespace: string): Selection => ({
  namespace: platformNamespace,
  labelSelector: settledSelector,
});

/** The ConfigMaps are read often and change rarely, so the parsed entries are cached. */
const read = new WeakMap<CostConfigMap, readonly SettledCost[]>();

/** `settledIn` returns the settled costs of a team, by its namespace. */
export function settledIn(caches: Pick<Caches, 'store'>, platformNamespace: string, team: string): SettledCost[] {
  const store = caches.store<CostConfigMap>(configMaps, selectionIn(platformNamespace));
  return store.byIndex('kidp-team', team).flatMap((map) => {
    const known = read.get(map) ?? readSettled(map);
    read.set(map, known);
    return known;
  });
}

/** `sumOf` sums live and settled costs. A resource that is just being deleted can be in both, and counts once. */
export function sumOf(owned: readonly OwnedObject[], settled: readonly SettledCost[]): MonthlyCost[] | undefined {
  const uids = new Set(owned.map(({ metadata }) => metadata.uid));
  // The costs of an Application are those of its resources, so it is not counted again.
  const live = owned.filter(({ kind }) => kind !== 'Application').flatMap(({ status }) => status?.costs ?? []);
  const gone = settled.filter(({ uid }) => !uids.has(uid)).map(asMonthlyCost);
  const totals = totalCosts([...live, ...gone]);
  return totals.length === 0 ? undefined : totals;
}

/** Passes the changes of a resource that affect the summary of its owners. */
export const rollUpChanged: Predicate = (change) => {
  if (change.type !== 'updated') return true;
  const [now, before] = [change.object as OwnedObject, change.old as OwnedObject];
  return (
    now.status?.phase !== before.status?.phase ||
    now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp ||
    !isDeepStrictEqual(now.spec.owner, before.spec.owner) ||
    now.spec.targetRef?.name !== before.spec.targetRef?.name ||
    !isDeepStrictEqual(now.status?.costs, before.status?.costs)
  );
};
