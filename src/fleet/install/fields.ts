/**
 * Field ownership. Applying removes fields that we applied earlier and no longer want, and leaves fields of others,
 * such as an injected CA. Fields that Helm wrote before an object left its release are transferred to us, or they would
 * stay; and back when a release regains its objects.
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

/** `takeFieldsFromHelm` runs before an apply. A concurrent change is a conflict, and the step is retried. */
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

/** Undefined if Helm owns nothing. Older Helm versions update what newer ones apply. */
export const fieldsTakenFromHelm = (entries: readonly Entry[]): readonly Entry[] | undefined =>
  transferred(entries, ({ manager }) => manager === helm, fieldManager);

/** The reverse. Fields that we only annotated do not count as applied. */
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
