/**
 * The Kubernetes Secret with the address and credentials of a deployment.
 *
 * Only newer reports overwrite it, and only Secrets of the object itself are written: a broker cannot make the platform
 * overwrite or reference the Secret of another object.
 */

import { GROUP, MANAGED_BY, MANAGED_BY_LABEL, TEAM_LABEL } from '../../api/index.ts';
import {
  compareDeployments,
  type ErrorClass,
  parseDeploymentId,
  RESOURCE_UID_LABEL,
  type StatusReport,
} from '../../broker/index.ts';
import {
  ApiError,
  type Client,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubernetesObject,
  type ObjectKey,
} from '../../runtime/index.ts';
import { kubernetesSecrets } from '../platform/resources.ts';
import type { Deployable, DeployableStatus } from './deployable.ts';

/** The report that the Secret was written from. */
const WRITTEN_ANNOTATION = `${GROUP}/reported`;
const mostTries = 5;

export interface KubernetesSecret extends KubernetesObject {
  type?: string;
  data?: Record<string, string>;
}

interface ConnectionParts {
  readonly client: Client;
  /** False if the platform has no access to Secrets. */
  readonly enabled?: boolean | undefined;
  readonly decrypt: ((jwe: string) => Promise<Record<string, string>>) | undefined;
  readonly signal?: AbortSignal | undefined;
}

type Connection = { readonly secret: DeployableStatus['connectionSecret'] } | Unusable;

/** Why the credentials cannot be stored. */
export interface Unusable {
  readonly problem: string;
  /** `transient`: another attempt may succeed. `quota`: a user must raise the quota. Default `permanent`. */
  readonly class?: ErrorClass;
  /** A Secret that is not ours has the name. */
  readonly taken?: boolean;
}

export async function writeConnectionSecret(
  object: Deployable,
  report: StatusReport,
  { client, enabled = true, decrypt, signal }: ConnectionParts,
): Promise<Connection> {
  const { credentials } = report;
  const unneeded = report.phase !== 'ready' || object.status?.requested === 'Delete';
  if (credentials === undefined || unneeded) return { secret: object.status?.connectionSecret };
  const key = { namespace: object.metadata.namespace ?? '', name: connectionSecretName(object) };
  // Another attempt succeeds after the restart that the new right needs.
  if (!enabled) return { problem: withoutAccess(key), class: 'transient' };
  const secret = { name: key.name, revision: credentials.revision.slice(0, 128) };
  const read =
    'jwe' in credentials
      ? await decrypted(credentials.jwe, decrypt)
      : await referencedValues(object, credentials, client, signal);
  if ('problem' in read) return read;
  // The broker has already written the Secret under the right name.
  if ('secretRef' in credentials && credentials.secretRef.name === key.name) return { secret };
  try {
    const written = await write(client, key, desiredSecret(object, report, key, read.values), object, signal);
    if (!written) return { problem: taken(key), taken: true };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return {
      problem: `Secret ${key.namespace}/${key.name} could not be written: ${error.message.slice(0, 512)}`,
      ...classOf(error),
    };
  }
  await deleteFormerSecret(client, object, key, signal);
  return { secret };
}

/**
 * Whether the API server rejected the object itself: invalid keys, missing values for its type, a full quota, a
 * terminating namespace. A redelivered report would be rejected again and block the reports behind it.
 */
const isRefusal = (error: unknown): error is ApiError =>
  error instanceof ApiError && [400, 403, 413, 422].includes(error.status) && !isPassing(error);

/**
 * Some rejections are temporary: an API server that just started does not know all RBAC rules yet, and a new quota is
 * not counted yet. These are retried.
 */
const isPassing = ({ status, message }: ApiError): boolean =>
  status === 403 && / is forbidden: User "[^"]*" cannot |status unknown for quota/.test(message);

function classOf({ message }: ApiError): Pick<Unusable, 'class'> {
  if (/exceeded quota/.test(message)) return { class: 'quota' };
  return /being terminated/.test(message) ? { class: 'transient' } : {};
}

type Values = { readonly values: Readonly<Record<string, string>> } | Unusable;

async function decrypted(jwe: string, decrypt: ConnectionParts['decrypt']): Promise<Values> {
  if (decrypt === undefined)
    return { problem: 'credentials are encrypted, and the platform has no key to decrypt them' };
  try {
    return { values: await decrypt(jwe) };
  } catch (error) {
    // They may be encrypted to a replaced key; another attempt uses the current one.
    const why = error instanceof Error ? error.message : String(error);
    return { problem: `credentials cannot be decrypted: ${why}`, class: 'transient' };
  }
}

/**
 * Only Secrets created for this object are read: a broker cannot make the platform read the Secret of another object.
 */
async function referencedValues(
  { metadata }: Deployable,
  { secretRef }: { readonly secretRef: { readonly namespace: string; readonly name: string } },
  client: Client,
  signal: AbortSignal | undefined,
): Promise<Values> {
  const { namespace, name } = secretRef;
  if (namespace !== metadata.namespace) {
    return {
      problem: `credentials.secretRef must name a Secret in namespace ${metadata.namespace}, not ${namespace}`,
    };
  }
  const options = signal === undefined ? {} : { signal };
  const there = await client
    .get<KubernetesSecret>(kubernetesSecrets, { namespace, name }, options)
    .catch(ignoreNotFound);
  if (there === undefined || there.metadata.labels?.[RESOURCE_UID_LABEL] !== metadata.uid) {
    return {
      problem: `credentials.secretRef must name a Secret with the label ${RESOURCE_UID_LABEL}=${metadata.uid}`,
    };
  }
  return { values: valuesOf(there) };
}

/** `valuesOf` decodes the data of a Secret. */
export const valuesOf = ({ data = {} }: KubernetesSecret): Record<string, string> =>
  Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));

const withoutAccess = ({ namespace, name }: ObjectKey): string =>
  `Secret ${namespace}/${name} was not written, because kidp has no access to Secrets: a platform administrator enables connection Secrets with "kubectl apply -k manifests/connections" and a restart of kidp`;

const taken = ({ namespace, name }: ObjectKey): string =>
  `Secret ${namespace}/${name} exists and is not managed by kidp: rename or delete it, or name another one in the spec`;

function connectionSecretName({ kind, metadata, spec }: Deployable): string {
  if (kind === 'Secret') return typeof spec.secretName === 'string' ? spec.secretName : metadata.name;
  const { name } = (spec.connectionSecret ?? {}) as { name?: string };
  return name ?? `${metadata.name}-connection`;
}

function desiredSecret(
  object: Deployable,
  { deploymentId, sequence }: StatusReport,
  { namespace, name }: ObjectKey,
  values: Readonly<Record<string, string>>,
): KubernetesSecret {
  const { metadata, spec, kind, apiVersion } = object;
  const team = metadata.labels?.[TEAM_LABEL];
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, ...(team === undefined ? {} : { [TEAM_LABEL]: team }) },
      annotations: { [WRITTEN_ANNOTATION]: `${deploymentId} ${sequence}` },
      // The owner reference deletes it with the object.
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '', controller: true }],
    },
    type: kind === 'Secret' && typeof spec.type === 'string' ? spec.type : 'Opaque',
    data: Object.fromEntries(
      Object.entries(values).map(([each, value]) => [each, Buffer.from(value).toString('base64')]),
    ),
  };
}

/** Returns false if a Secret that is not ours has the name. */
async function write(
  client: Client,
  key: ObjectKey,
  wanted: KubernetesSecret,
  object: Deployable,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const options = signal === undefined ? {} : { signal };
  if (object.status?.connectionSecret === undefined && (await isCreated(client, wanted, options))) return true;
  for (let tries = 1; ; tries += 1) {
    try {
      const there = await client.get<KubernetesSecret>(kubernetesSecrets, key, options).catch(ignoreNotFound);
      if (there === undefined) {
        await client.create(kubernetesSecrets, wanted, options);
        return true;
      }
      const ours = isOf(there, object);
      if (!ours && !isOfPredecessor(there, object)) return false;
      if (ours && !isOlder(there, wanted)) return true;
      const { resourceVersion, uid } = there.metadata;
      if (ours && there.type === wanted.type) {
        const metadata = { ...wanted.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
        await client.update(kubernetesSecrets, { ...wanted, metadata }, options);
        return true;
      }
      // The type of a Secret is immutable, and the Secret of a deleted predecessor would be garbage collected, so it is
      // replaced.
      await client.delete(kubernetesSecrets, key, { ...options, preconditions: uid === undefined ? {} : { uid } });
    } catch (error) {
      if (!(isConflict(error) || isAlreadyExists(error) || isNotFound(error)) || tries === mostTries) throw error;
    }
  }
}

/** Creation is tried first, because usually there is no Secret yet. A full quota is reported even if there is one. */
async function isCreated(
  client: Client,
  wanted: KubernetesSecret,
  options: { signal?: AbortSignal },
): Promise<boolean> {
  try {
    await client.create(kubernetesSecrets, wanted, options);
    return true;
  } catch (error) {
    if (isAlreadyExists(error) || (error instanceof ApiError && error.status === 403)) return false;
    throw error;
  }
}

const ignoreNotFound = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
};

const isOf = ({ metadata }: KubernetesSecret, object: Deployable): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid) ?? false;

/** A Secret of a deleted object of the same name, which is not garbage collected yet. */
const isOfPredecessor = ({ metadata }: KubernetesSecret, object: Deployable): boolean =>
  metadata.labels?.[MANAGED_BY_LABEL] === MANAGED_BY &&
  (metadata.ownerReferences?.some(
    ({ kind, name, controller }) => controller === true && kind === object.kind && name === object.metadata.name,
  ) ??
    false);

/** Ordered by deployment, then by the sequence of the report. */
function isOlder(one: KubernetesSecret, other: KubernetesSecret): boolean {
  const [before, after] = [writtenFrom(one), writtenFrom(other)];
  if (before === undefined || after === undefined) return true;
  return (compareDeployments(before.id, after.id) || before.sequence - after.sequence) < 0;
}

function writtenFrom({ metadata }: KubernetesSecret) {
  const [id = '', sequence = ''] = (metadata.annotations?.[WRITTEN_ANNOTATION] ?? '').split(' ');
  const parsed = parseDeploymentId(id);
  return parsed === undefined ? undefined : { id: parsed, sequence: Number(sequence) };
}

/** The name changed: the Secret under the old name would become stale unnoticed. */
async function deleteFormerSecret(
  client: Client,
  object: Deployable,
  { namespace, name }: ObjectKey,
  signal: AbortSignal | undefined,
): Promise<void> {
  const former = object.status?.connectionSecret?.name;
  if (former === undefined || former === name) return;
  const options = signal === undefined ? {} : { signal };
  const key = { ...(namespace === undefined ? {} : { namespace }), name: former };
  const there = await client.get<KubernetesSecret>(kubernetesSecrets, key, options).catch(ignoreNotFound);
  if (there === undefined || !isOf(there, object) || there.metadata.uid === undefined) return;
  await client
    .delete(kubernetesSecrets, key, { ...options, preconditions: { uid: there.metadata.uid } })
    .catch(ignoreNotFound);
}
