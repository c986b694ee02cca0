/** Converts the types of a Policy to resource rules. */
import type { MatchModel, TypeMatch } from '../model.ts';
import type { Json, Operation } from '../request.ts';
import type { Kinds } from './kinds.ts';
import type { SourceNotes } from './notes.ts';
import { any, typeIs } from './predicates.ts';

interface ResourceRules {
  readonly included: readonly Json[];
  readonly excluded: readonly Json[];
  /** The conditions that a resource rule cannot express. */
  readonly conditions: readonly Json[];
}

export function resourceRules(
  { types = [], operations = ['CREATE', 'UPDATE'] }: MatchModel,
  { kinds, notes }: { readonly kinds: Kinds; readonly notes: SourceNotes },
): ResourceRules {
  const resources = types.map((type) => resourceOf(type, kinds, notes));
  // Rules support `*` and exact names only, so other patterns become a wider rule and an expression.
  const wide = resources.some(({ group, version }) => isPattern(group) || isPattern(version));
  const rule = (apiGroups: readonly string[], apiVersions: readonly string[], names: readonly string[]): Json => ({
    apiGroups,
    apiVersions,
    operations,
    resources: names,
  });
  const byVersion = Map.groupBy(resources, ({ group, version }) =>
    JSON.stringify([isPattern(group) ? '*' : group, isPattern(version) ? '*' : version]),
  );
  return {
    included: [...byVersion].map(([key, each]) => {
      const [group, version] = JSON.parse(key) as [string, string];
      return rule([group], [version], [...new Set(each.map(withSubresource))]);
    }),
    excluded: types.some(({ sparing }) => sparing === true) ? noise(operations) : [],
    conditions: wide ? [{ name: 'resource-types', expression: any(...resources.map(typeIs)) }] : [],
  };
}

interface Resource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
}

function resourceOf(type: TypeMatch, kinds: Kinds, notes: SourceNotes): Resource {
  const { group, version, kind = '*', subresource } = type;
  const { resource, guessed } = kinds.resourceOf(group, kind);
  if (guessed) {
    notes.lost(
      'spec.selector.resourceTypes',
      `the resource of ${group}/${version}/${kind} is not known: ${resource} is a guess; add its CRD with -f to be sure`,
    );
  }
  return { group, version, resource, subresource };
}

const isPattern = (text: string): boolean => text !== '*' && text.includes('*');

const withSubresource = ({ resource, subresource }: Resource): string =>
  subresource === undefined ? resource : `${resource}/${subresource}`;

/** The types that `*` of a Policy excludes. Native policies never see access reviews anyway. */
function noise(operations: readonly Operation[]): readonly Json[] {
  const rule = (apiGroups: readonly string[], resources: readonly string[]): Json => ({
    apiGroups,
    apiVersions: ['*'],
    operations,
    resources,
  });
  return [rule(['', 'events.k8s.io'], ['events', 'events/*']), rule(['coordination.k8s.io'], ['leases', 'leases/*'])];
}
