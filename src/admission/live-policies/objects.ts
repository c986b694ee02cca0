/** Objects of the cluster as policies read them, and queries on them. */
import type { LabelSelector, ObjectQuery } from '../../policy/index.ts';
import { selects } from '../../policy/internal.ts';
import type { ObjectMeta, UnknownObject } from '../../runtime/index.ts';
import type { ResourceMapping, ServedResource } from '../../runtime/internal.ts';

/**
 * `plainMetadata` removes managedFields. An undefined property is not valid JSON and would be visible to expressions.
 */
export function plainMetadata<T extends { metadata: ObjectMeta }>(object: T): T {
  if (!('managedFields' in object.metadata)) return object;
  const { managedFields, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** `labelIndex` indexes an object under `key=value` for each label. */
export function labelIndex({ metadata }: UnknownObject): string[] {
  return Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
}

/** `isAsked` reports whether an object matches a query, apart from its kind. */
export function isAsked({ metadata }: UnknownObject, { namespace, name, selector }: Partial<ObjectQuery>): boolean {
  return (
    (namespace === undefined || metadata.namespace === undefined || metadata.namespace === namespace) &&
    (name === undefined || metadata.name === name) &&
    (selector === undefined || selects(selector, metadata.labels ?? {}))
  );
}

/** `byKey` is the stable order of lists for policies. */
export function byKey({ metadata: one }: UnknownObject, { metadata: other }: UnknownObject): number {
  return compare(one.namespace ?? '', other.namespace ?? '') || compare(one.name, other.name);
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** `servedAs` returns the resource for an `apiVersion` and `kind`, or undefined if it is not served. */
export function servedAs(mapping: ResourceMapping, apiVersion: string, kind: string): ServedResource | undefined {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  return mapping.byKind(group, kind, apiVersion.slice(slash + 1));
}

/** `selectorText` formats a selector for a query of the API server: `a=b,c in (d,e),!f`. */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      switch (operator) {
        case 'In':
          return `${key} in (${values.join(',')})`;
        case 'NotIn':
          return `${key} notin (${values.join(',')})`;
        case 'Exists':
          return key;
        default:
          return `!${key}`;
      }
    }),
  ].join(',');
}
