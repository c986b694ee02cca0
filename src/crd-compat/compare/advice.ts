/** The advice for each kind of breaking change: what to do instead. */
import type { ChangeKind } from '../kinds.ts';

const NEW_VERSION = 'make the change in a new version, with a conversion webhook between the two';

const advice: readonly (readonly [prefixes: readonly string[], text: string])[] = [
  [['crd-deleted'], 'Delete the objects first, or keep the definition until nothing uses it.'],
  [
    ['group-', 'scope-', 'plural-', 'kind-changed'],
    'Create a second definition under the new name, migrate the objects, then delete the old one.',
  ],
  [['singular-', 'list-kind-', 'short-name-', 'category-'], 'Keep the old name beside the new one for a release.'],
  [
    ['definition-prunes'],
    'First declare every field in use in the schema, or set x-kubernetes-preserve-unknown-fields: true where arbitrary fields are allowed.',
  ],
  [
    ['definition-preserves'],
    'Remove spec.preserveUnknownFields, and set x-kubernetes-preserve-unknown-fields: true in the schema where arbitrary fields are allowed.',
  ],
  [
    ['conversion-'],
    'First deploy a webhook that handles both versions, and check that it converts in both directions without losing fields.',
  ],
  [
    ['version-removed'],
    'Serve it as deprecated for a release, migrate stored objects to the storage version, remove it from status.storedVersions, then from spec.versions.',
  ],
  [['version-unserved'], 'Mark the version as deprecated for a release before you stop serving it.'],
  [['storage-version-'], 'Convert with a webhook, or add every field of the old storage version to the new one.'],
  [
    ['preferred-version-'],
    'Give the new version every field of the old one, with the same type, or convert with a webhook. Until then, do not serve it, or name it so that it sorts lower, such as v2beta1.',
  ],
  [['field-not-stored'], 'Add the fields to the storage version first, or convert with a webhook.'],
  [['field-not-round-tripped'], 'Add the fields to every served version, or convert with a webhook.'],
  [['value-not-round-tripped'], 'Let every served version accept the same values, or convert with a webhook.'],
  [['status-subresource-'], `Keep the subresource as it is in this version; ${NEW_VERSION}.`],
  [['scale-'], `Keep the old paths in this version; ${NEW_VERSION}.`],
  [['selectable-field-'], 'Keep the selectable field until no client selects by it.'],
  [
    ['schema-added'],
    'Start with a schema that keeps unknown fields (x-kubernetes-preserve-unknown-fields: true at the root), and close it field by field.',
  ],
  [['field-removed'], `Keep the field, marked as deprecated in its description; or ${NEW_VERSION}.`],
  [['field-renamed'], `Keep the old field beside the new one and let the controller read both; or ${NEW_VERSION}.`],
  [['required-added'], `Set a default, or let the controller handle a missing field; or ${NEW_VERSION}.`],
  [['type-changed'], `Add a second field of the new type and let the controller read both; or ${NEW_VERSION}.`],
  [['nullable-'], `Set a default, which replaces null; or ${NEW_VERSION}.`],
  [['default-added'], 'Make sure that the default is what the controller assumes today if the field is not set.'],
  [
    ['default-'],
    `Keep the default, and let the controller or a policy choose another for new objects; or ${NEW_VERSION}.`,
  ],
  [
    ['field-added', 'preserve-unknown-fields-', 'map-', 'fields-became-map'],
    `Keep the object open (x-kubernetes-preserve-unknown-fields: true or additionalProperties) as well; or ${NEW_VERSION}.`,
  ],
  [['embedded-resource-'], `Keep it as it is in this version; ${NEW_VERSION}.`],
  [
    ['list-', 'map-type-'],
    `Keep the list and map types of this version, on which server-side apply relies; ${NEW_VERSION}.`,
  ],
  [['transition-rule-'], 'First warn with a policy in audit mode, and add the rule once no update violates it.'],
  [
    ['rule-', 'all-of-', 'any-of-', 'one-of-', 'not-'],
    `First warn with a policy in audit mode and fix what it reports; or ${NEW_VERSION}.`,
  ],
];

const GENERAL = `Keep accepting the old values, or first warn with a policy in audit mode and fix what it reports; or ${NEW_VERSION}.`;

/** A cache: the advice for a kind never changes. */
const KNOWN = new Map<ChangeKind, string>();

export function adviceFor(kind: ChangeKind): string {
  const known =
    KNOWN.get(kind) ?? advice.find(([prefixes]) => prefixes.some((prefix) => kind.startsWith(prefix)))?.[1] ?? GENERAL;
  KNOWN.set(kind, known);
  return known;
}
