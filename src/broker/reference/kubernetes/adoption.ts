/**
 * Takes over the objects of another broker, found in all namespaces by the label with the uid. That there are none is
 * trusted only if a record of that broker shows that it deployed to this cluster.
 */
import type { Client, Resource, UnknownObject } from '../../../runtime/index.ts';
import { formerNotVisible } from '../provider.ts';
import type { DeploymentRecord } from '../record.ts';
import { isTopLevel } from './apply.ts';
import { refOf } from './cluster-cache.ts';
import { BROKER_LABEL, labelValue, UID_LABEL } from './names.ts';
import type { ClusterRecords } from './records.ts';
import { managedResources } from './resources.ts';

/** The former brokers whose objects are already adopted, from a note. */
const adoptedIn = ({ notes }: DeploymentRecord): string[] =>
  (notes.adopted ?? '').split(',').filter((each) => each !== '');

/** Returns the notes of a record with what is adopted; undefined if nothing is left to adopt. */
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
  // From here on the former brokers leave the object alone, if they still run.
  for (const former of fresh) await records.handOver(former, record, now);
  const earlier = parts.filter(isTopLevel).map((part) => [refOf(part), '']);
  const made = { ...Object.fromEntries(earlier), ...JSON.parse(record.notes.made ?? '{}') };
  return { ...record.notes, adopted: [...known, ...fresh].join(','), made: JSON.stringify(made) };
}

/**
 * The former brokers without a trace: no record, and no object of theirs or of a later broker, which would have adopted
 * theirs first.
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

/** All objects of a uid, of any broker, in all namespaces. */
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

/** List items have no kind. */
const typed = (resource: Resource, item: UnknownObject): UnknownObject => ({ ...item, kind: resource.kind });
