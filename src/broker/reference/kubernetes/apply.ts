/**
 * Applies the objects of a plan with server-side apply and removes those of an earlier plan. Objects of others are
 * never overwritten.
 */
import { type Client, keyOf, type Resource, type UnknownObject } from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import { stableJson } from '../record.ts';
import { type ClusterCache, getOrUndefined, refOf } from './cluster-cache.ts';
import { digestOf, pick } from './digest.ts';
import { failureOf } from './failures.ts';
import { isOurs } from './names.ts';
import { type Manifest, managedResources, resourceOf, volumeClaims } from './resources.ts';
import { bytes } from './sizes.ts';

const FIELD_MANAGER = 'kidp-broker';
const SCALE_MANAGER = 'kidp-broker-scale';

interface Applied {
  /** The objects as the API server returned them, by reference. */
  readonly objects: ReadonlyMap<string, UnknownObject>;
  /** The digest of each object after it was applied, by reference. */
  readonly digests: Readonly<Record<string, string>>;
}

export interface ApplyContext {
  readonly client: Client;
  readonly cluster: ClusterCache;
  readonly request: DeploymentRequest;
}

export async function applyAll(making: ApplyContext, manifests: readonly Manifest[]): Promise<Applied> {
  const objects = new Map<string, UnknownObject>();
  const digests: Record<string, string> = {};
  for (const manifest of manifests) {
    const { answer, applied } = await applyOne(making, manifest);
    objects.set(refOf(manifest), { ...answer, apiVersion: manifest.apiVersion, kind: manifest.kind });
    digests[refOf(manifest)] = digestOf(answer, applied);
  }
  return { objects, digests };
}

async function applyOne(
  { client, cluster, request }: ApplyContext,
  manifest: Manifest,
): Promise<{ answer: UnknownObject; applied: Manifest }> {
  const resource = resourceOf(manifest);
  const { namespace = '', name } = manifest.metadata;
  const doing = `applying ${manifest.kind} ${namespace}/${name}`;
  try {
    const known = cluster.find(resource, { namespace, name });
    const live = known ?? (await getOrUndefined<UnknownObject>(client, resource, { namespace, name }));
    if (live !== undefined && !isOurs(live.metadata, request)) {
      throw permanent(
        'name-taken',
        `${manifest.kind} ${namespace}/${name} exists and does not belong to this ${request.resource.kind}. Rename one of them, or delete the existing one`,
      );
    }
    const applied = live === undefined ? manifest : await keepImmutableFields(client, manifest, live);
    if (manifest.kind === 'Deployment') await handOverScale(client, applied, live, request);
    const answer = await client.apply(resource, applied, { fieldManager: FIELD_MANAGER, force: true });
    return { answer, applied };
  } catch (error) {
    throw failureOf(error, doing);
  }
}

/**
 * Hands `spec.replicas` over to the autoscaler. If an apply simply omitted replicas, server-side apply would remove the
 * field and scale to one until the autoscaler reacts. So a separate field manager takes the field first, and the
 * autoscaler takes it from there.
 */
async function handOverScale(
  client: Client,
  manifest: Manifest,
  live: UnknownObject | undefined,
  { spec }: DeploymentRequest,
): Promise<void> {
  const wanted = manifest.spec as { replicas?: number };
  if (wanted.replicas !== undefined) return;
  const resource = resourceOf(manifest);
  const present = live?.spec as { replicas?: number } | undefined;
  const replicas = present?.replicas ?? (spec?.replicas as number | undefined) ?? 1;
  if (live === undefined) {
    const whole = { ...manifest, spec: { ...wanted, replicas } };
    await client.apply(resource, whole, { fieldManager: FIELD_MANAGER, force: true });
  }
  const { namespace, name } = manifest.metadata;
  const scale = {
    apiVersion: manifest.apiVersion,
    kind: manifest.kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec: { replicas },
  };
  await client.apply(resource, scale, { fieldManager: SCALE_MANAGER, force: true });
}

interface ClaimTemplate {
  spec: { resources: { requests: { storage: string } } };
}

/**
 * Keeps fields that Kubernetes does not let anyone change. The claims of a StatefulSet are grown one by one, and never
 * shrunk.
 */
async function keepImmutableFields(client: Client, manifest: Manifest, live: UnknownObject): Promise<Manifest> {
  if (manifest.kind === 'PersistentVolumeClaim') {
    const [wanted, present] = [storageOf(manifest), storageOf(live)];
    if (bytes(wanted) >= bytes(present)) return manifest;
    throw cannotShrink(present, wanted);
  }
  if (manifest.kind !== 'StatefulSet') return manifest;
  const templates = (of: UnknownObject) => (of.spec as { volumeClaimTemplates?: ClaimTemplate[] }).volumeClaimTemplates;
  const [wanted, present] = [templates(manifest)?.[0], templates(live)?.[0]];
  if (wanted === undefined || present === undefined) {
    if (wanted === present) return manifest;
    throw permanent(
      'storage-fixed',
      `${refOf(manifest)} cannot change between persistent and ephemeral storage: restore parameters.storage of the DeploymentTarget`,
    );
  }
  await growClaim(client, manifest, wanted.spec.resources.requests.storage);
  return { ...manifest, spec: { ...(manifest.spec as object), volumeClaimTemplates: templates(live) } };
}

async function growClaim(client: Client, { metadata }: Manifest, wanted: string): Promise<void> {
  const key = { ...keyOf({ metadata, apiVersion: '', kind: '' }), name: `data-${metadata.name}-0` };
  const claim = await getOrUndefined<UnknownObject>(client, volumeClaims, key);
  if (claim === undefined || storageOf(claim) === wanted) return;
  if (bytes(wanted) < bytes(storageOf(claim))) throw cannotShrink(storageOf(claim), wanted);
  const body = { spec: { resources: { requests: { storage: wanted } } } };
  await client.patch(volumeClaims, key, { type: 'merge', body }, { fieldManager: FIELD_MANAGER });
}

const storageOf = (claim: UnknownObject): string => (claim as unknown as ClaimTemplate).spec.resources.requests.storage;

const cannotShrink = (from: string, to: string) =>
  permanent(
    'storage-cannot-shrink',
    `storage cannot shrink from ${from} to ${to}: request at least ${from}, or create another Database and move the data`,
  );

/** Removes objects of earlier deployments that the plan no longer contains. */
export async function prune(
  { client, cluster, request }: ApplyContext,
  wanted: ReadonlySet<string>,
  earlier: readonly string[],
): Promise<void> {
  const { resource } = request;
  const refs = new Set([...earlier, ...cluster.objectsOf(resource.uid).filter(isTopLevel).map(refOf)]);
  for (const ref of refs) {
    if (wanted.has(ref)) continue;
    const [kind, namespace = '', name = ''] = ref.split('/');
    const type = managedResources.find((each) => each.kind === kind);
    if (type === undefined) continue;
    const live = await getOrUndefined<UnknownObject>(client, type, { namespace, name });
    if (live === undefined || !isOurs(live.metadata, request)) continue;
    const preconditions = live.metadata.uid === undefined ? {} : { uid: live.metadata.uid };
    await client.delete(type, { namespace, name }, { propagationPolicy: 'Background', preconditions });
  }
}

/** Whether an object is part of the plan: the claims that a StatefulSet creates are not. */
export const isTopLevel = ({ kind, metadata }: UnknownObject): boolean =>
  kind !== 'PersistentVolumeClaim' || !/^data-.*-\d+$/.test(metadata.name);

/** Finds an object, in the cache or on the API server. */
export type Find = (
  resource: Resource,
  key: { readonly namespace: string; readonly name: string },
) => Promise<UnknownObject | undefined>;

/** Finds objects of the plan that were changed or deleted, as one sentence each. */
export async function findDrift(
  client: Client,
  find: Find,
  manifests: readonly Manifest[],
  digests: Readonly<Record<string, string>>,
  confirmed: Map<string, string>,
): Promise<string[]> {
  const drift: string[] = [];
  for (const [ref, digest] of Object.entries(digests)) {
    const [kind, namespace = '', name = ''] = ref.split('/');
    const resource = managedResources.find((each) => each.kind === kind);
    if (resource === undefined) continue;
    const live = await find(resource, { namespace, name });
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) {
      drift.push(`${ref} was deleted`);
      continue;
    }
    const manifest = manifests.find((each) => refOf(each) === ref);
    if (manifest === undefined) continue;
    const present = digestOf(live, manifest);
    if (present === digest || present === confirmed.get(ref)) continue;
    if (await wouldChange(client, manifest, live)) drift.push(`${ref} was changed`);
    else confirmed.set(ref, present);
  }
  return drift;
}

/**
 * Checks with a dry run whether applying the manifest again would change the object: only the API server knows its
 * defaults and formats.
 */
async function wouldChange(client: Client, manifest: Manifest, live: UnknownObject): Promise<boolean> {
  // The plan of a Secret is read from the Secret itself, so a dry run would never find a change.
  if (manifest.kind === 'Secret') return true;
  const wanted = manifest.kind === 'StatefulSet' ? await keepImmutableFields(client, manifest, live) : manifest;
  const options = { fieldManager: FIELD_MANAGER, force: true, dryRun: true };
  const answer = await client.apply(resourceOf(manifest), wanted, options);
  return stableJson(pick(answer, wanted)) !== stableJson(pick(live, wanted));
}
