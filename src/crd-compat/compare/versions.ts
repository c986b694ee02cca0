/**
 * Compares the versions of a definition: which exist, which are served and stored, and everything in them besides the
 * schema.
 */
import { same } from '../canonical.ts';
import { type Crd, type CrdVersion, schemaOf } from '../crd.ts';
import type { CrdSchema } from '../schema.ts';
import { checkConstraint } from './acceptance.ts';
import { BREAKING, Notes, SAFE } from './draft.ts';
import { show } from './format.ts';

const collection = (crd: Crd, version: string): string => `/apis/${crd.spec.group}/${version}/${crd.spec.names.plural}`;

const single = (crd: Crd, version: string): string => {
  const { group, scope, names } = crd.spec;
  return `/apis/${group}/${version}/${scope === 'Namespaced' ? 'namespaces/NAMESPACE/' : ''}${names.plural}/NAME`;
};

export function addedVersion(version: CrdVersion): Notes {
  const notes = new Notes(version.name);
  notes.add(pathOf(version.name), {
    kind: 'version-added',
    after: { served: version.served, storage: version.storage },
    ...SAFE,
    message: `Version ${version.name} was added.`,
  });
  return notes;
}

export function removedVersion(before: Crd, version: CrdVersion, storedVersions: readonly string[]): Notes {
  const notes = new Notes(version.name);
  const stored = storedVersions.includes(version.name);
  notes.add(pathOf(version.name), {
    kind: 'version-removed',
    before: { served: version.served, storage: version.storage },
    storedObjects: stored ? 'breaking' : 'safe',
    manifests: version.served ? 'breaking' : 'safe',
    message: stored
      ? `Version ${version.name} was removed while objects may be stored in it (status.storedVersions).`
      : `Version ${version.name} was removed${version.served ? '' : '; it was neither served nor stored'}.`,
    ...(stored || version.served ? { hits: removalHits(version, stored) } : {}),
    ...(stored || version.served
      ? {
          witness: stored
            ? {
                outcome: 'request-fails' as const,
                request: `PUT /apis/apiextensions.k8s.io/v1/customresourcedefinitions/${before.metadata.name}`,
                because: `status.storedVersions: Invalid value: ${JSON.stringify(version.name)}: missing from spec.versions`,
              }
            : {
                outcome: 'request-fails' as const,
                request: `GET ${collection(before, version.name)}`,
                because: `404: version ${version.name} is not served`,
              },
        }
      : {}),
  });
  return notes;
}

const removalHits = (version: CrdVersion, stored: boolean): string =>
  [
    ...(version.served ? [`manifests and clients that say ${version.name}`] : []),
    ...(stored ? [`objects stored as ${version.name}`] : []),
  ].join('; ');

const pathOf = (version: string): string => `spec.versions[${version}]`;

/** Notes the changes of one version besides its schema. */
export function compareVersion(before: Crd, old: CrdVersion, now: CrdVersion, notes: Notes): void {
  compareServed(before, old, now, notes);
  compareDeprecation(old, now, notes);
  compareSubresources(before, old, now, notes);
  compareColumns(old, now, notes);
}

/** Notes the changes of what is served beside the objects. */
export function compareSubresources(before: Crd, old: CrdVersion, now: CrdVersion, notes: Notes): void {
  compareStatus(before, old, now, notes);
  compareScale(before, old, now, notes);
  compareSelectable(before, old, now, notes);
}

function compareServed(before: Crd, old: CrdVersion, now: CrdVersion, notes: Notes): void {
  if (old.served === now.served) return;
  notes.add(`${pathOf(now.name)}.served`, {
    kind: now.served ? 'version-served' : 'version-unserved',
    before: old.served,
    after: now.served,
    storedObjects: 'safe',
    manifests: now.served ? 'safe' : 'breaking',
    message: now.served ? `Version ${now.name} is served now.` : `Version ${now.name} is no longer served.`,
    ...(now.served
      ? {}
      : {
          hits: `manifests and clients that say ${now.name}`,
          witness: {
            outcome: 'request-fails',
            request: `GET ${collection(before, now.name)}`,
            because: `404: version ${now.name} is not served`,
          },
        }),
  });
}

function compareDeprecation(old: CrdVersion, now: CrdVersion, notes: Notes): void {
  const path = `${pathOf(now.name)}.deprecated`;
  if ((old.deprecated === true) !== (now.deprecated === true)) {
    notes.add(path, {
      kind: now.deprecated === true ? 'version-deprecated' : 'version-undeprecated',
      before: old.deprecated === true,
      after: now.deprecated === true,
      ...SAFE,
      message:
        now.deprecated === true
          ? `Version ${now.name} is deprecated: requests get a warning.`
          : `Version ${now.name} is no longer deprecated.`,
    });
  } else if (old.deprecationWarning !== now.deprecationWarning) {
    notes.add(path, {
      kind: 'deprecation-warning-changed',
      before: old.deprecationWarning,
      after: now.deprecationWarning,
      ...SAFE,
      message: `The warning of version ${now.name} changed.`,
    });
  }
}

function compareStatus(before: Crd, old: CrdVersion, now: CrdVersion, notes: Notes): void {
  const had = old.subresources?.status != null;
  const has = now.subresources?.status != null;
  if (had === has) return;
  const path = `${pathOf(now.name)}.subresources.status`;
  if (has) {
    const risky = { storedObjects: 'safe', manifests: 'risky' } as const;
    const mayHaveOne = old.served && now.served && schemaOf(old)?.properties?.status !== undefined;
    notes.add(path, {
      kind: 'status-subresource-added',
      before: false,
      after: true,
      ...risky,
      message: 'status became a subresource: writes to the object itself no longer change it.',
      hits: 'controllers that write status with the object, and manifests with a status: the API server ignores it without an error',
      decidedBy: 'acceptance',
      // On a create, status is dropped before validation: an object that requires a status can no longer be created.
      ...(mayHaveOne
        ? {
            manifests: 'breaking' as const,
            probe: { steps: [], withoutStatus: true, expect: 'refused' as const },
            otherwise: { ...risky, decidedBy: 'acceptance' as const },
          }
        : {}),
    });
    return;
  }
  notes.add(path, {
    kind: 'status-subresource-removed',
    before: true,
    after: false,
    ...BREAKING,
    storedObjects: 'safe',
    message:
      'status is no longer a subresource: whoever writes the object writes its status, and writes to /status fail.',
    hits: 'controllers that write status',
    witness: {
      outcome: 'request-fails',
      request: `PUT ${single(before, now.name)}/status`,
      because: '404: there is no subresource status',
    },
  });
}

function compareScale(before: Crd, old: CrdVersion, now: CrdVersion, notes: Notes): void {
  const one = old.subresources?.scale;
  const other = now.subresources?.scale;
  if (same(one, other)) return;
  const path = `${pathOf(now.name)}.subresources.scale`;
  const request = `PUT ${single(before, now.name)}/scale`;
  if (one == null) {
    const free = mayBeNegative(old, other?.specReplicasPath);
    notes.add(path, {
      kind: 'scale-subresource-added',
      after: other,
      ...SAFE,
      ...(free ? { manifests: 'risky' as const, storedObjects: 'risky' as const } : {}),
      message: 'The object can be scaled now.',
      ...(free ? { hits: 'objects whose number of replicas is below 0 or over 2147483647: they are refused' } : {}),
    });
  } else if (other == null) {
    notes.add(path, {
      kind: 'scale-subresource-removed',
      before: one,
      ...BREAKING,
      storedObjects: 'safe',
      message: 'The object can no longer be scaled.',
      hits: 'autoscalers and `kubectl scale`',
      witness: { outcome: 'request-fails', request, because: '404: there is no subresource scale' },
    });
  } else {
    const selectorAdded = one.labelSelectorPath === undefined && same({ ...other, labelSelectorPath: undefined }, one);
    notes.add(path, {
      kind: 'scale-subresource-changed',
      before: one,
      after: other,
      ...(selectorAdded ? SAFE : BREAKING),
      storedObjects: 'safe',
      message: selectorAdded
        ? 'The scale subresource also reports the pod selector.'
        : 'The scale subresource reads and writes other fields.',
      ...(selectorAdded
        ? {}
        : {
            hits: 'autoscalers and `kubectl scale`: they read or set another field than before',
            witness: {
              outcome: 'changed' as const,
              request,
              because: `the scale is taken from ${show(other)}, not from ${show(one)}`,
            },
          }),
    });
  }
}

/** Whether the schema accepts numbers of replicas that the API server rejects: negative ones and those over 32 bits. */
function mayBeNegative(version: CrdVersion, path: string | undefined): boolean {
  const names = (path ?? '').split('.').filter((name) => name !== '');
  const field = names.reduce<CrdSchema | undefined>((schema, name) => schema?.properties?.[name], schemaOf(version));
  if (field === undefined) return false;
  return checkConstraint(field, { minimum: 0, maximum: 2 ** 31 - 1 }).answer !== 'yes';
}

function compareSelectable(before: Crd, old: CrdVersion, now: CrdVersion, notes: Notes): void {
  const one = (old.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
  const other = (now.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
  const path = `${pathOf(now.name)}.selectableFields`;
  for (const field of one.filter((name) => !other.includes(name)).sort()) {
    notes.add(path, {
      kind: 'selectable-field-removed',
      before: field,
      ...BREAKING,
      storedObjects: 'safe',
      message: `Objects can no longer be selected by ${field}.`,
      hits: `lists and watches with the field selector ${field}`,
      witness: {
        outcome: 'request-fails',
        request: `GET ${collection(before, now.name)}?fieldSelector=${field.replace(/^\./, '')}%3Dvalue`,
        because: `400: field label not supported: ${field.replace(/^\./, '')}`,
      },
    });
  }
  for (const field of other.filter((name) => !one.includes(name)).sort()) {
    notes.add(path, {
      kind: 'selectable-field-added',
      after: field,
      ...SAFE,
      message: `Objects can be selected by ${field}.`,
    });
  }
}

function compareColumns(old: CrdVersion, now: CrdVersion, notes: Notes): void {
  const one = new Map((old.additionalPrinterColumns ?? []).map((column) => [column.name, column]));
  const other = new Map((now.additionalPrinterColumns ?? []).map((column) => [column.name, column]));
  const path = `${pathOf(now.name)}.additionalPrinterColumns`;
  for (const name of [...new Set([...one.keys(), ...other.keys()])].sort()) {
    const was = one.get(name);
    const is = other.get(name);
    if (same(was, is)) continue;
    const kind = was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';
    notes.add(`${path}[${name}]`, {
      kind: `printer-column-${kind}`,
      ...(was === undefined ? {} : { before: was }),
      ...(is === undefined ? {} : { after: is }),
      ...SAFE,
      message: `The column ${name} that kubectl prints was ${kind}.`,
    });
  }
}
