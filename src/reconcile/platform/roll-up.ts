/** What a Team or an Application is told about what it owns: counts, phases and costs, from caches only. */
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

/** The ConfigMaps with the costs of what is gone, as they are watched. */
export const settledSelection = (platformNamespace: string) => ({
  ...selectionIn(platformNamespace),
  indexes: { 'kidp-team': byTeam },
});

const selectionIn = (platformNamespace: string): Selection => ({
  namespace: platformNamespace,
  labelSelector: settledSelector,
});

/** They are read over and over again, and change rarely. */
const read = new WeakMap<CostConfigMap, readonly SettledCost[]>();

/** What is gone of a team, by its namespace. */
export function settledIn(caches: Pick<Caches, 'store'>, platformNamespace: string, team: string): SettledCost[] {
  const store = caches.store<CostConfigMap>(configMaps, selectionIn(platformNamespace));
  return store.byIndex('kidp-team', team).flatMap((map) => {
    const known = read.get(map) ?? readSettled(map);
    read.set(map, known);
    return known;
  });
}

/** Of what is there and what is gone. What is just going is in both for a moment, and counts once. */
export function sumOf(owned: readonly OwnedObject[], settled: readonly SettledCost[]): MonthlyCost[] | undefined {
  const uids = new Set(owned.map(({ metadata }) => metadata.uid));
  // An Application's own costs are those of what it owns.
  const live = owned.filter(({ kind }) => kind !== 'Application').flatMap(({ status }) => status?.costs ?? []);
  const gone = settled.filter(({ uid }) => !uids.has(uid)).map(asMonthlyCost);
  const totals = totalCosts([...live, ...gone]);
  return totals.length === 0 ? undefined : totals;
}

/** Of the changes of a resource, those that its owners hear of. */
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
