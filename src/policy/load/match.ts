/** Reads the selector of a Policy, its exclusions, and the selector of a PolicyException, which have the same shape. */
import type { PolicyException } from '../../api/index.ts';
import type { MatchModel } from '../model.ts';
import type { LabelSelector } from '../world.ts';
import { readResourceType } from './resource-types.ts';

type Selector = NonNullable<PolicyException['spec']['selector']>;

export function readMatch(selector: Partial<Selector>): MatchModel {
  const { resourceTypes, matchLabels, matchExpressions, ...same } = selector;
  const { operations, namespaces, namespaceSelector, names, users, groups, serviceAccounts } = same;
  return {
    ...(resourceTypes === undefined ? {} : { types: resourceTypes.map(readResourceType) }),
    ...(operations === undefined ? {} : { operations }),
    ...labels(matchLabels, matchExpressions),
    ...(namespaces === undefined ? {} : { namespaces }),
    ...(namespaceSelector === undefined ? {} : { namespaceSelector: namespaceSelector as LabelSelector }),
    ...(names === undefined ? {} : { names }),
    ...(users === undefined ? {} : { users }),
    ...(groups === undefined ? {} : { groups }),
    ...(serviceAccounts === undefined ? {} : { serviceAccounts }),
  };
}

function labels(
  matchLabels: Selector['matchLabels'],
  matchExpressions: Selector['matchExpressions'],
): { objectSelector?: LabelSelector } {
  if (matchLabels === undefined && matchExpressions === undefined) return {};
  return {
    objectSelector: {
      ...(matchLabels === undefined ? {} : { matchLabels }),
      ...(matchExpressions === undefined ? {} : { matchExpressions: matchExpressions as never }),
    },
  };
}
