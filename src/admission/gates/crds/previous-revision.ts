/** Finds the recorded revision of a definition that was deleted and is now re-created. */
import { type CrdRevision, crdRevision, REVISION_LABEL, revisionLabelOf, unpackRevision } from '../../../api/index.ts';
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
  const labelSelector = `${REVISION_LABEL}=${revisionLabelOf(name)}`;
  await eachObject(client, crdRevision.resource, { labelSelector, signal }, (object) => {
    const revision = object as unknown as CrdRevision;
    if (revision.spec.crd.name !== name || revision.spec.sequence <= (newest?.spec.sequence ?? 0)) return;
    newest = revision;
  });
  if (newest === undefined) return undefined;
  try {
    return { sequence: newest.spec.sequence, text: JSON.stringify(unpackRevision(newest)) };
  } catch {
    return undefined;
  }
}
