/** The advice for each kind of breaking change: what to do instead. */
import type { ChangeKind } from '../kinds.ts';

const NEW_VERSION = 'make the change in a new version, with a conversion webhook between the two';

const advice: readonly (readonly [prefixes: readonly string[], text: string])[] = [
  [['crd-deleted'], 'Remove the objects first, or keep the definition until nothing uses it.'],
  [
    ['group-', 'scope-', 'plural-', 'kind-changed'],
    'Add a second definition under the new name, move the objects over, then delete the old one.',
  ],
  [['singular-', 'list-kind-', 'short-name-', 'category-'], 'Keep the old name beside the new one for a release.'],
  [
    ['definition-prunes'],
    'Name every field that is in use in the schema first, or put x-kubernetes-preserve-unknown-fields: true where fields are open.',
  ],
  [
    ['definition-preserves'],
    'Leave spec.preserveUnknownFields out, and put x-kubernetes-preserve-unknown-fields: true into the schema where fields are open.',
  ],
  [
    ['conversion-'],
    'Deploy the webhook that answers for both versions first, and check that it converts both ways without losing fields.',
  ],
  [
    ['version-removed'],
    'Serve it as deprecated for a release, migrate stored objects to the storage version, take it out of status.storedVersions, then remove it.',
  ],
  [['version-unserved'], 'Mark the version as deprecated for a release before it is no longer served.'],
  [['storage-version-'], 'Convert with a webhook, or give the new storage version every field of the old one.'],
  [['status-subresource-'], `Keep the subresource as it is in this version; ${NEW_VERSION}.`],
  [['scale-'], `Keep the old paths in this version; ${NEW_VERSION}.`],
  [['selectable-field-'], 'Keep the selectable field until no client selects by it.'],
  [
    ['schema-added'],
    'Start with a schema that keeps unknown fields (x-kubernetes-preserve-unknown-fields: true at the root), and close it field by field.',
  ],
  [['field-removed'], `Keep the field, marked as deprecated in its description; or ${NEW_VERSION}.`],
  [['field-renamed'], `Keep the old field beside the new one and let the controller read both; or ${NEW_VERSION}.`],
  [['required-added'], `Give the field a default, or let the controller deal with its absence; or ${NEW_VERSION}.`],
  [['type-changed'], `Add a second field of the new type and let the controller read both; or ${NEW_VERSION}.`],
  [['nullable-'], `Give the field a default, which then stands in for null; or ${NEW_VERSION}.`],
  [['default-added'], 'Make sure that the default is what the controller does today where the field is left out.'],
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
  [['transition-rule-'], 'Warn first with a policy in audit mode, and add the rule when nothing trips over it.'],
  [
    ['rule-', 'all-of-', 'any-of-', 'one-of-', 'not-'],
    `Warn first with a policy in audit mode and fix what it reports; or ${NEW_VERSION}.`,
  ],
];

const GENERAL = `Keep accepting what was accepted, or warn first with a policy in audit mode and fix what it reports; or ${NEW_VERSION}.`;

/** A cache: the advice for a kind never changes. */
const KNOWN = new Map<ChangeKind, string>();

export function adviceFor(kind: ChangeKind): string {
  const known =
    KNOWN.get(kind) ?? advice.find(([prefixes]) => prefixes.some((prefix) => kind.startsWith(prefix)))?.[1] ?? GENERAL;
  KNOWN.set(kind, known);
  return known;
}
