/** Objects that are in etcd in one version and are read through another from now on. */
import { type Crd, type CrdVersion, conversionStrategy, schemaOf } from '../crd.ts';
import { Notes, ROOT } from './draft.ts';
import { compareSchemas } from './schema.ts';

export function compareStorage(after: Crd, from: CrdVersion, to: CrdVersion): Notes {
  const notes = new Notes(to.name);
  const webhook = conversionStrategy(after) === 'Webhook';
  const one = schemaOf(from);
  const other = schemaOf(to);
  const inner = new Notes(to.name);
  if (one !== undefined && other !== undefined) compareSchemas(one, other, ROOT, inner, { resource: true });
  // Without a webhook only apiVersion is changed, and the object is then pruned by the schema of the new storage version.
  const lost = inner.drafts.filter(
    ({ storedObjects, probe }) => storedObjects === 'breaking' && probe?.expect !== 'refused',
  );
  const first = lost[0];
  const hits = webhook
    ? 'every stored object is converted by the webhook when it is read'
    : `objects stored as ${from.name} with ${lost
        .map(({ path }) => path)
        .slice(0, 5)
        .join(', ')}`;
  const storedObjects = webhook && inner.drafts.length > 0 ? 'risky' : first === undefined ? 'safe' : 'breaking';
  notes.add(`spec.versions[${to.name}].storage`, {
    kind: 'storage-version-moved',
    before: from.name,
    after: to.name,
    storedObjects,
    // What a manifest says in the old version is written in the new one, and lost there just the same.
    manifests: storedObjects,
    message: `Objects are stored as ${to.name} now, no longer as ${from.name}.`,
    ...(storedObjects === 'safe' ? {} : { hits }),
    ...(webhook || first?.probe === undefined
      ? {}
      : {
          probe: first.probe,
          otherwise: { storedObjects: 'safe' as const, manifests: 'safe' as const, decidedBy: 'acceptance' as const },
        }),
    decidedBy: 'acceptance',
  });
  return notes;
}
