/**
 * Whose a field is. What we apply takes away what we once applied and no longer want, and leaves what others have written, such as an
 * authority that somebody puts in. What Helm wrote before an object left its release is neither: it becomes ours, or it would stay; and
 * likewise the other way round when a release has its objects back.
 */
import type { Client, ObjectKey, Resource, UnknownObject } from '../../runtime/index.ts';
import { fieldManager } from './definitions.ts';

const helm = 'helm';

export interface Entry {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: Tree;
}

interface Tree {
  readonly [field: string]: Tree;
}

/** Before it is applied. What somebody has changed meanwhile is a conflict, and the step comes again. */
export async function takeFieldsFromHelm(
  client: Client,
  resource: Resource,
  key: ObjectKey,
  { metadata }: UnknownObject,
): Promise<void> {
  const managedFields = fieldsTakenFromHelm((metadata.managedFields ?? []) as readonly Entry[]);
  if (managedFields === undefined) return;
  const body = { metadata: { resourceVersion: metadata.resourceVersion, managedFields } };
  await client.patch(resource, key, { type: 'merge', body }, { fieldManager });
}

/** Undefined where Helm has nothing of it. An older Helm has updated what a newer one has applied. */
export const fieldsTakenFromHelm = (entries: readonly Entry[]): readonly Entry[] | undefined =>
  transferred(entries, ({ manager }) => manager === helm, fieldManager);

/** The other way round. What we have only marked is not what we have applied. */
export const fieldsGivenToHelm = (entries: readonly Entry[]): readonly Entry[] | undefined =>
  transferred(entries, ({ manager, operation }) => manager === fieldManager && operation === 'Apply', helm);

function transferred(
  entries: readonly Entry[],
  isFrom: (entry: Entry) => boolean,
  manager: string,
): readonly Entry[] | undefined {
  const given = entries.filter((each) => each.subresource === undefined && isFrom(each));
  const [first] = given;
  if (first === undefined) return undefined;
  const isTo = (each: Entry) =>
    each.manager === manager && each.operation === 'Apply' && each.subresource === undefined;
  const own = entries.find(isTo) ?? { ...first, manager, operation: 'Apply', fieldsV1: {} };
  const fieldsV1 = given.reduce((all, each) => joined(all, each.fieldsV1 ?? {}), own.fieldsV1 ?? {});
  const others = entries.filter((each) => !given.includes(each) && !isTo(each));
  return [...others, { ...own, fieldsV1 }];
}

function joined(one: Tree, other: Tree): Tree {
  const both = Object.entries(other).map(([field, tree]) => [field, joined(one[field] ?? {}, tree)] as const);
  return { ...one, ...Object.fromEntries(both) };
}
