/** Compares storage versions: objects stored in one version and read through another after the change. */
import { type Crd, type CrdVersion, conversionStrategy, schemaOf } from '../crd.ts';
import { type Draft, Notes, ROOT, type Scope } from './draft.ts';
import { compareSchemas } from './schema.ts';

export function compareStorage(after: Crd, from: CrdVersion, to: CrdVersion): Notes {
  const notes = new Notes(to.name);
  const webhook = conversionStrategy(after) === 'Webhook';
  const inner = differences(from, to, 'reading');
  // Without a webhook only apiVersion is changed, and the object is then pruned by the schema of the new storage version.
  const lost = inner.filter(({ storedObjects, probe }) => storedObjects === 'breaking' && probe?.expect !== 'refused');
  const first = lost[0];
  const hits = webhook
    ? 'every stored object is converted by the webhook when it is read'
    : `objects stored as ${from.name} with ${lost
        .map(({ path }) => path)
        .slice(0, 5)
        .join(', ')}`;
  const converts = webhook && (inner.length > 0 || differences(from, to, 'all').length > 0);
  const storedObjects = converts ? 'risky' : first === undefined ? 'safe' : 'breaking';
  notes.add(`spec.versions[${to.name}].storage`, {
    kind: 'storage-version-moved',
    before: from.name,
    after: to.name,
    storedObjects,
    // A manifest in the old version is stored in the new one, and loses the same fields.
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

function differences(from: CrdVersion, to: CrdVersion, scope: Scope): readonly Draft[] {
  const [one, other] = [schemaOf(from), schemaOf(to)];
  const notes = new Notes(to.name, scope);
  if (one !== undefined && other !== undefined) compareSchemas(one, other, ROOT, notes, { resource: true });
  return notes.drafts;
}
