/** The cost report: one row per resource, month and currency, for live and deleted resources. */
import type { KubernetesObject } from '../../runtime/index.ts';
import { costTagsOf, listedOwnership, type OwnedObject, ownedKinds, payersOf } from '../platform/ownership.ts';
import type { SettledCost } from './settled.ts';

export interface CostRow {
  readonly month: string;
  /** The namespace of the team that pays. */
  readonly team: string;
  /** The nearest Application in the owner chain, as `namespace/name`; empty if the team owns the resource directly. */
  readonly application: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** `deleted`: the resource is gone, its costs remain. */
  readonly state: 'live' | 'deleted';
  readonly currency: string;
  readonly amount: string;
  readonly costTags: Readonly<Record<string, string>>;
}

/** `costRows` sorts by month, team, application, kind and name. Objects of other kinds only serve to find owners. */
export function costRows(objects: readonly KubernetesObject[], settled: readonly SettledCost[]): CostRow[] {
  const view = listedOwnership(objects);
  const owned = objects.filter(({ kind }) => ownedKinds.some((each) => each.kind === kind && each.deployable));
  const uids = new Set(owned.map(({ metadata }) => metadata.uid));
  const live = owned.flatMap((each): CostRow[] => {
    const object = each as OwnedObject;
    const { team, applications } = payersOf(object, view);
    const { namespace = '', name } = object.metadata;
    const costTags = costTagsOf(object, view);
    return (object.status?.costs ?? []).map(({ month, currency, amount }) => ({
      month,
      team: team?.spec.namespace ?? namespace,
      application: applications[0] ?? '',
      kind: object.kind,
      namespace,
      name,
      state: 'live',
      currency,
      amount,
      costTags,
    }));
  });
  const gone = settled
    .filter(({ uid }) => !uids.has(uid))
    .map(
      (entry): CostRow => ({
        month: entry.month,
        team: entry.team,
        application: entry.applications[0] ?? '',
        kind: entry.kind,
        namespace: entry.namespace,
        name: entry.name,
        state: 'deleted',
        currency: entry.currency,
        amount: entry.amount,
        costTags: entry.costTags ?? {},
      }),
    );
  return [...live, ...gone].sort((one, other) => compare(orderOf(one), orderOf(other)));
}

const orderOf = ({ month, team, application, kind, namespace, name, currency }: CostRow): string =>
  [month, team, application, kind, namespace, name, currency].join('\u0000');
const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));
