/** Compares the definition itself: group, scope, names and conversion. */
import { same } from '../canonical.ts';
import { type Crd, type CrdNames, conversionStrategy, schemaOf } from '../crd.ts';
import { isObject } from '../json.ts';
import type { ChangeKind } from '../kinds.ts';
import { BREAKING, Notes, RISKY, SAFE } from './draft.ts';
import { show } from './format.ts';

export function compareDefinitions(before: Crd, after: Crd): Notes {
  const notes = new Notes('');
  compareIdentity(before, after, notes);
  compareNames(before, after, notes);
  compareConversion(before, after, notes);
  comparePruning(before, after, notes);
  return notes;
}

function compareIdentity(before: Crd, after: Crd, notes: Notes): void {
  const fixed = (kind: ChangeKind, path: string, old: string, now: string, hits: string): void => {
    if (old === now) return;
    notes.add(path, {
      kind,
      before: old,
      after: now,
      ...BREAKING,
      message: `${path} changed from ${show(old)} to ${show(now)}, which the API server does not allow once a definition is established.`,
      hits,
      witness: {
        outcome: 'request-fails',
        request: `PUT /apis/apiextensions.k8s.io/v1/customresourcedefinitions/${before.metadata.name}`,
        because: `${path}: Invalid value: ${JSON.stringify(now)}: field is immutable`,
      },
    });
  };
  const all = 'every object and every manifest';
  fixed('group-changed', 'spec.group', before.spec.group, after.spec.group, all);
  fixed('scope-changed', 'spec.scope', before.spec.scope, after.spec.scope, all);
  fixed(
    'plural-changed',
    'spec.names.plural',
    before.spec.names.plural,
    after.spec.names.plural,
    'every request, role and watch that names the resource',
  );
  fixed('kind-changed', 'spec.names.kind', before.spec.names.kind, after.spec.names.kind, all);
}

const singularOf = (names: CrdNames): string => names.singular ?? names.kind.toLowerCase();
const listKindOf = (names: CrdNames): string => names.listKind ?? `${names.kind}List`;

function compareNames(before: Crd, after: Crd, notes: Notes): void {
  const old = before.spec.names;
  const now = after.spec.names;
  if (singularOf(old) !== singularOf(now)) {
    notes.add('spec.names.singular', {
      kind: 'singular-changed',
      before: singularOf(old),
      after: singularOf(now),
      storedObjects: 'safe',
      manifests: 'risky',
      message: `The singular name changed from ${singularOf(old)} to ${singularOf(now)}.`,
      hits: `scripts that say \`kubectl get ${singularOf(old)}\``,
    });
  }
  if (listKindOf(old) !== listKindOf(now)) {
    notes.add('spec.names.listKind', {
      kind: 'list-kind-changed',
      before: listKindOf(old),
      after: listKindOf(now),
      storedObjects: 'safe',
      manifests: 'risky',
      message: `The kind of lists changed from ${listKindOf(old)} to ${listKindOf(now)}.`,
      hits: `typed clients that decode ${listKindOf(old)}`,
    });
  }
  compareSets(old.shortNames ?? [], now.shortNames ?? [], 'short-name', 'spec.names.shortNames', 'short name', notes);
  compareSets(old.categories ?? [], now.categories ?? [], 'category', 'spec.names.categories', 'category', notes);
}

function compareSets(
  old: readonly string[],
  now: readonly string[],
  kind: 'short-name' | 'category',
  path: string,
  words: string,
  notes: Notes,
): void {
  for (const name of old.filter((one) => !now.includes(one)).sort()) {
    notes.add(path, {
      kind: `${kind}-removed`,
      before: name,
      // Objects and manifests do not contain this name; people and scripts use it.
      storedObjects: 'safe',
      manifests: 'risky',
      message: `The ${words} ${name} was removed.`,
      hits: `people and scripts that say \`kubectl get ${name}\``,
    });
  }
  for (const name of now.filter((one) => !old.includes(one)).sort()) {
    notes.add(path, { kind: `${kind}-added`, after: name, ...SAFE, message: `The ${words} ${name} was added.` });
  }
}

/** Conversion happens between versions: a definition with a single version never converts. */
function compareConversion(before: Crd, after: Crd, notes: Notes): void {
  const old = conversionStrategy(before);
  const now = conversionStrategy(after);
  const idle = before.spec.versions.length === 1 && after.spec.versions.length === 1;
  if (old !== now) {
    const lost = now === 'None' && !idle && !alike(after);
    notes.add('spec.conversion.strategy', {
      kind: 'conversion-strategy-changed',
      before: old,
      after: now,
      ...(idle ? SAFE : lost ? BREAKING : RISKY),
      message: `Conversion between versions changed from ${old} to ${now}.`,
      ...(idle
        ? {}
        : {
            hits: lost
              ? 'objects read or written in another version than they are stored in: only apiVersion is changed, and fields the other version does not name are pruned'
              : 'objects read or written in another version than they are stored in',
          }),
      ...(lost
        ? {
            witness: {
              outcome: 'changed' as const,
              request: requestFor(after),
              because: 'an object stored in one version is served in another without its fields being converted',
            },
          }
        : {}),
    });
    return;
  }
  if (now !== 'Webhook') return;
  const change = {
    ...(idle ? SAFE : RISKY),
    hits: idle ? '' : 'objects read or written in another version than they are stored in',
  };
  const one = before.spec.conversion?.webhook;
  const other = after.spec.conversion?.webhook;
  if (!same(one?.clientConfig, other?.clientConfig)) {
    const renewed = same(withoutAuthority(one?.clientConfig), withoutAuthority(other?.clientConfig));
    notes.add('spec.conversion.webhook.clientConfig', {
      kind: 'conversion-webhook-changed',
      before: one?.clientConfig,
      after: other?.clientConfig,
      ...(renewed ? SAFE : change),
      message: renewed
        ? 'The caBundle of the conversion webhook changed.'
        : 'The client configuration of the conversion webhook changed.',
    });
  }
  if (!same(one?.conversionReviewVersions, other?.conversionReviewVersions)) {
    notes.add('spec.conversion.webhook.conversionReviewVersions', {
      kind: 'conversion-review-versions-changed',
      before: one?.conversionReviewVersions,
      after: other?.conversionReviewVersions,
      ...change,
      message: 'The ConversionReview versions of the conversion webhook changed.',
    });
  }
}

/**
 * A changed caBundle alone does not change the webhook. Certificates are renewed regularly, and conversion fails only
 * until the bundle is updated.
 */
const withoutAuthority = (clientConfig: unknown): unknown => {
  if (!isObject(clientConfig)) return clientConfig;
  const { caBundle: _, ...rest } = clientConfig;
  return rest;
};

const alike = (crd: Crd): boolean => {
  const [first, ...others] = crd.spec.versions.map(schemaOf);
  return others.every((schema) => same(first, schema));
};

const requestFor = (crd: Crd): string => {
  const version = crd.spec.versions.find(({ storage, served }) => served && !storage) ?? crd.spec.versions[0];
  return `GET /apis/${crd.spec.group}/${version?.name}/${crd.spec.names.plural}`;
};

function comparePruning(before: Crd, after: Crd, notes: Notes): void {
  const old = before.spec.preserveUnknownFields === true;
  const now = after.spec.preserveUnknownFields === true;
  if (old === now) return;
  const request = `PUT /apis/apiextensions.k8s.io/v1/customresourcedefinitions/${before.metadata.name}`;
  notes.add('spec.preserveUnknownFields', {
    kind: now ? 'definition-preserves-unknown-fields' : 'definition-prunes-unknown-fields',
    before: old,
    after: now,
    ...BREAKING,
    message: now
      ? 'spec.preserveUnknownFields: true is not allowed in apiextensions.k8s.io/v1.'
      : 'Fields that the schema does not name are pruned now, in every object.',
    hits: now ? 'whoever applies the definition' : 'objects with fields that the schema does not name',
    witness: now
      ? { outcome: 'request-fails', request, because: 'spec.preserveUnknownFields: Invalid value: true: must be false' }
      : {
          outcome: 'pruned',
          object: exampleOf(after),
          path: '.unnamed',
          because: '.unnamed is not in the schema and is pruned when the object is read',
        },
  });
}

const exampleOf = (crd: Crd): Readonly<Record<string, unknown>> => ({
  apiVersion: `${crd.spec.group}/${crd.spec.versions.find(({ served }) => served)?.name ?? ''}`,
  kind: crd.spec.names.kind,
  metadata: { name: 'example', ...(crd.spec.scope === 'Namespaced' ? { namespace: 'default' } : {}) },
  unnamed: 'value',
});
