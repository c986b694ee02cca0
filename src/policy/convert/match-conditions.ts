/** Converts selector and exclusion fields that native policies can only express as match conditions. */
import type { MatchModel, PolicyModel } from '../model.ts';
import type { Json } from '../request.ts';
import type { Kinds } from './kinds.ts';
import type { SourceNotes } from './notes.ts';
import {
  all,
  any,
  groupsHave,
  labelsFitBoth,
  NAME,
  NAMESPACE,
  not,
  oneOf,
  operationsAre,
  serviceAccountsAre,
  typeIs,
  usersAre,
} from './predicates.ts';

export function matchConditions(
  { match, exclude }: PolicyModel,
  options: { readonly kinds: Kinds; readonly notes: SourceNotes },
): readonly Json[] {
  const conditions: Json[] = [];
  for (const [name, expression] of narrowing(match)) conditions.push({ name, expression });
  if (exclude === undefined) return conditions;
  const { types, operations, objectSelector, namespaceSelector } = exclude;
  if (namespaceSelector !== undefined) {
    options.notes.lost(
      'spec.exclude.namespaceSelector',
      'match conditions of Kubernetes cannot read the labels of the namespace, so spec.exclude is ignored: negate it in spec.selector.namespaceSelector',
    );
    return conditions;
  }
  const terms = [
    ...(types ?? []).map((type) => {
      const { resource } = options.kinds.resourceOf(type.group, type.kind ?? '*');
      return typeIs({ ...type, resource, subresource: type.subresource });
    }),
  ];
  const excluded = [
    ...(terms.length === 0 ? [] : [any(...terms)]),
    ...(operations === undefined ? [] : [operationsAre(operations)]),
    ...(objectSelector === undefined ? [] : [labelsFitBoth(objectSelector)]),
    ...[...narrowing(exclude)].map(([, expression]) => expression),
  ];
  if (excluded.length > 0) conditions.push({ name: 'exclude', expression: not(all(...excluded)) });
  return conditions;
}

function* narrowing(match: MatchModel): Iterable<readonly [string, string]> {
  if (match.namespaces !== undefined) yield ['namespaces', oneOf(NAMESPACE, match.namespaces)];
  if (match.names !== undefined) yield ['names', oneOf(NAME, match.names)];
  if (match.users !== undefined) yield ['users', usersAre(match.users)];
  if (match.groups !== undefined) yield ['groups', groupsHave(match.groups)];
  if (match.serviceAccounts !== undefined) yield ['service-accounts', serviceAccountsAre(match.serviceAccounts)];
}

/** The namespaces that a Policy exempts by default. */
export const systemNamespaces = (platformNamespace: string): Json => ({
  key: 'kubernetes.io/metadata.name',
  operator: 'NotIn',
  values: ['kube-system', platformNamespace],
});
