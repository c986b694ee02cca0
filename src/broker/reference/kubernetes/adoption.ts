/**
 * What another broker has made, taken over by this one: found by the label with the uid of the object, wherever in the cluster it is. That
 * there is nothing is believed only where a record of that broker says that it was asked here.
 */
import type { Client, Resource, UnknownObject } from '../../../runtime/index.ts';
import { formerNotVisible } from '../provider.ts';
import type { DeploymentRecord } from '../record.ts';
import { isTopLevel } from './apply.ts';
import { refOf } from './cluster-cache.ts';
import { BROKER_LABEL, labelValue, UID_LABEL } from './names.ts';
import type { ClusterRecords } from './records.ts';
import { managedResources } from './resources.ts';

/** Of those that it was taken over from, in a note. */
const adoptedIn = ({ notes }: DeploymentRecord): string[] =>
  (notes.adopted ?? '').split(',').filter((each) => each !== '');

/** The notes of a record with what is taken over in them; undefined where nothing is left to take over. */
export async function adopt(
  record: DeploymentRecord,
  { client, records, now }: { readonly client: Client; readonly records: ClusterRecords; readonly now: number },
): Promise<Readonly<Record<string, string>> | undefined> {
  const formers = record.request.formerBrokers ?? [];
  const known = adoptedIn(record);
  const fresh = formers.filter((former) => !known.includes(former));
  if (fresh.length === 0) return undefined;
  const { uid } = record;
  const theirs = await Promise.all(fresh.map((former) => records.ofBroker(former, uid)));
  const parts = await listObjects(client, uid);
  const unseen = invisibleBrokers(
    fresh,
    theirs,
    parts.map(({ metadata }) => metadata.labels?.[BROKER_LABEL] ?? ''),
  );
  if (unseen.length > 0) {
    throw formerNotVisible(
      unseen,
      'nothing in this cluster bears its name, and there is no record of it beside those of this broker',
    );
  }
  // From here on they leave it alone, should they still be there.
  for (const former of fresh) await records.handOver(former, record, now);
  const earlier = parts.filter(isTopLevel).map((part) => [refOf(part), '']);
  const made = { ...Object.fromEntries(earlier), ...JSON.parse(record.notes.made ?? '{}') };
  return { ...record.notes, adopted: [...known, ...fresh].join(','), made: JSON.stringify(made) };
}

/**
 * Those of whom nothing is to be seen: no record, and no thing either of them or of one that came after them; for that one made nothing
 * before it had taken over what they had.
 */
export function invisibleBrokers(
  formers: readonly string[],
  records: readonly (DeploymentRecord | undefined)[],
  makers: readonly string[],
): string[] {
  const adopted = records.flatMap((each) => (each === undefined ? [] : adoptedIn(each)));
  const last = formers.findLastIndex((former) => makers.includes(labelValue(former)));
  return formers.filter((former, index) => index > last && records[index] === undefined && !adopted.includes(former));
}

/** What was made for an object by anybody, in all namespaces. */
async function listObjects(client: Client, uid: string): Promise<UnknownObject[]> {
  const labelSelector = `${UID_LABEL}=${labelValue(uid)}`;
  const found = await Promise.all(
    managedResources.map(async (resource) => {
      const { items } = await client.list(resource, { labelSelector });
      return items.map((item) => typed(resource, item));
    }),
  );
  return found.flat();
}

/** What a list gives out has no type of its own. */
const typed = (resource: Resource, item: UnknownObject): UnknownObject => ({ ...item, kind: resource.kind });
