/** The ordered steps of a migration: at every step, each object and manifest has a served version that accepts it. */
import type { Change, Crd } from '../../crd-compat/index.ts';
import { storageVersion } from '../../crd-compat/internal.ts';
import type { Carry } from './migration.ts';

interface Plan {
  readonly before: Crd;
  readonly after: Crd;
  /** Whether the definition cannot be changed in place, because its group, scope, plural or kind changes. */
  readonly elsewhere: boolean;
  readonly breaking: readonly Change[];
  readonly carries: readonly Carry[];
  readonly definition: Crd;
  readonly versions: readonly { readonly from: string; readonly to: string }[];
}

export function stepsOf(plan: Plan): readonly string[] {
  if (plan.breaking.length === 0) return ['Apply the new definition: it contains no breaking change.'];
  return plan.elsewhere ? moveAway(plan) : addVersion(plan);
}

function addVersion({ before, after, definition, carries, versions, breaking }: Plan): string[] {
  const { name } = before.metadata;
  const { plural } = before.spec.names;
  const converts = definition.spec.conversion?.strategy === 'Webhook';
  const stored = storageVersion(before)?.name;
  const target = versions.find(({ from }) => from === stored)?.to ?? storageVersion(after)?.name ?? stored;
  const moves = versions.map(({ from, to }) => `${from} to ${to}`).join(', ');
  const retired = [...new Set([...versions.map(({ from }) => from), ...leaving(before, after)])];
  return [
    ...(converts && carries.length > 0
      ? [
          'Run a conversion webhook that implements the list under "Conversion", and set its service and caBundle in spec.conversion.',
        ]
      : []),
    versions.length === 0
      ? 'Apply the definition below: it removes nothing yet.'
      : `Apply the definition below: it adds ${versions.map(({ to }) => to).join(', ')} beside the existing versions and removes nothing.`,
    ...(moves === '' ? [] : [`Move manifests, controllers and other clients from ${moves}.`]),
    ...(target === undefined || target === stored
      ? []
      : [
          `Set storage: true on ${target} and storage: false on ${stored}, and apply the definition again.`,
          `Rewrite every object, so that it is stored as ${target}: \`kubectl get ${plural} --all-namespaces -o json | kubectl replace -f -\`.`,
          `Remove ${stored} from status.storedVersions: \`kubectl patch customresourcedefinitions ${name} --subresource=status --type=merge -p '{"status":{"storedVersions":["${target}"]}}'\`.`,
        ]),
    ...retired.map(
      (version) =>
        `Once no client requests ${version} any more (metric \`apiserver_requested_deprecated_apis\`), set served: false on it, and remove it a release later.`,
    ),
    ...breaking.filter(({ path, kind }) => !path.startsWith('.') && !kind.startsWith('version-')).map(later),
  ];
}

/** The versions that the new definition no longer has or no longer serves. */
const leaving = (before: Crd, after: Crd): string[] =>
  before.spec.versions
    .filter(({ name, served }) => served && after.spec.versions.find((now) => now.name === name)?.served !== true)
    .map(({ name }) => name);

const later = ({ path, message }: Change): string =>
  `Keep ${path} unchanged until no client needs it (the definition below keeps it where a version allows that): ${message}`;

function moveAway({ before, after }: Plan): string[] {
  const sameName = before.metadata.name === after.metadata.name;
  const old = before.spec.names.plural;
  return [
    ...(sameName
      ? [
          `Give the new definition another plural or group: ${before.metadata.name} is taken, and this change cannot be made in place.`,
        ]
      : []),
    'Apply the new definition beside the old one.',
    `Copy every object: \`kubectl get ${old} --all-namespaces -o yaml\`, rewrite apiVersion, kind${before.spec.scope === after.spec.scope ? '' : ', metadata.namespace'} and the fields under "Conversion", drop uid, resourceVersion and status, and apply it.`,
    'Move manifests, controllers, roles and other clients to the new kind; let the controller write both for as long as both are used.',
    `Delete the old definition when none of its objects is left: \`kubectl get ${old} --all-namespaces\` prints "No resources found".`,
  ];
}
