/** Finds recorded revisions of a definition: of one that was deleted and is now re-created, and of a change that was made before. */
import { type CrdRevision, crdRevision, REVISION_LABEL, revisionLabelOf, unpackRevision } from '../../../api/index.ts';
import { sameJson } from '../../../policy/internal.ts';
import { type Client, eachObject } from '../../../runtime/index.ts';

interface Earlier {
  readonly sequence: number;
  /** The definition as JSON. */
  readonly text: string;
}

/** `newestRevision` returns the newest readable revision of a definition, or undefined. */
export async function newestRevision(
  client: Client | undefined,
  name: string,
  signal: AbortSignal,
): Promise<Earlier | undefined> {
  if (client === undefined) return undefined;
  let newest: CrdRevision | undefined;
  await eachRevision(client, name, signal, (revision) => {
    if (revision.spec.sequence > (newest?.spec.sequence ?? 0)) newest = revision;
  });
  if (newest === undefined) return undefined;
  try {
    return { sequence: newest.spec.sequence, text: JSON.stringify(unpackRevision(newest)) };
  } catch {
    return undefined;
  }
}

/** `lastStored` returns when a definition last got exactly this spec; undefined if that is not recorded. */
export async function lastStored(
  client: Client,
  { name, uid, spec }: { readonly name: string; readonly uid: string; readonly spec: unknown },
  signal: AbortSignal,
): Promise<string | undefined> {
  let last: string | undefined;
  await eachRevision(client, name, signal, (revision) => {
    const { creationTimestamp = '' } = revision.metadata;
    if (revision.spec.crd.uid !== uid || revision.spec.registered !== undefined) return;
    if (creationTimestamp <= (last ?? '')) return;
    try {
      if (sameJson(unpackRevision(revision).spec, spec)) last = creationTimestamp;
    } catch {
      // What cannot be read was not written by kidp.
    }
  });
  return last;
}

async function eachRevision(
  client: Client,
  name: string,
  signal: AbortSignal,
  look: (revision: CrdRevision) => void,
): Promise<void> {
  const labelSelector = `${REVISION_LABEL}=${revisionLabelOf(name)}`;
  await eachObject(client, crdRevision.resource, { labelSelector, signal }, (object) => {
    const revision = object as unknown as CrdRevision;
    if (revision.spec.crd.name === name) look(revision);
  });
}
