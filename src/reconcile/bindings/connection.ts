/** The connection of a binding: a Kubernetes Secret in the namespace of its user, deleted with the user. */
import { createHash } from 'node:crypto';
import { GROUP, MANAGED_BY, MANAGED_BY_LABEL } from '../../api/index.ts';
import { RESOURCE_UID_LABEL } from '../../broker/index.ts';
import { controllerOf, controllerReference, type KubernetesObject } from '../../runtime/index.ts';
import { type Binding, describeObject, type OwnedObject } from '../platform/ownership.ts';

export interface SecretObject extends KubernetesObject {
  type?: string;
  /** Values in base64. */
  data?: Record<string, string>;
}

/** The values of a connection, and the revision that identifies them. */
export interface Connection {
  readonly data: Readonly<Record<string, string>>;
  readonly revision: string;
}

/** Marks the Secrets that were created for a binding. */
const BINDING_LABEL = `${GROUP}/binding`;
export const bindingSelector = `${BINDING_LABEL}=true`;
const SOURCE_ANNOTATION = `${GROUP}/binding-source`;
const REVISION_ANNOTATION = `${GROUP}/binding-revision`;
const CONTENT_ANNOTATION = `${GROUP}/binding-content`;

type Named = Pick<KubernetesObject, 'kind'> & {
  readonly metadata: { readonly namespace?: string; readonly name: string };
};

/** `connectionName` is stable per pair of user and source. A digest separates pairs whose names run together. */
export function connectionName(user: Named, source: Named): string {
  const parts = [user, source].map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name]);
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8);
  const words = [user.kind, user.metadata.name, source.kind, source.metadata.name].join('-').toLowerCase();
  // The name is cut to the length limit of Secret names, and must not end in a dot or a hyphen.
  return `${words.slice(0, 253 - digest.length - 1).replace(/[-.]+$/, '')}-${digest}`;
}

/** `addressOf` returns the connection of a kind without credentials. Keys that are invalid in a Secret are skipped. */
export function addressOf({ status }: OwnedObject): Connection {
  const entries = Object.entries({ ...(status?.url === undefined ? {} : { url: status.url }), ...status?.outputs })
    .filter(([key]) => /^[-._a-zA-Z0-9]{1,253}$/.test(key))
    .map(([key, value]): [string, string] => [key, Buffer.from(value).toString('base64')]);
  const data = Object.fromEntries(entries);
  return { data, revision: contentOf(data) };
}

/** `credentialsOf` returns the values of the source's Secret, with the revision from its status. */
export function credentialsOf({ status }: OwnedObject, { data = {} }: SecretObject): Connection {
  return { data, revision: status?.connectionSecret?.revision ?? contentOf(data) };
}

export function connectionSecret(user: OwnedObject, source: OwnedObject, { data, revision }: Connection): SecretObject {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: connectionName(user, source),
      namespace: user.metadata.namespace ?? '',
      labels: { [MANAGED_BY_LABEL]: MANAGED_BY, [BINDING_LABEL]: 'true' },
      annotations: {
        [SOURCE_ANNOTATION]: `${describeObject(source)} ${source.metadata.uid ?? ''}`,
        [REVISION_ANNOTATION]: revision,
        [CONTENT_ANNOTATION]: contentOf(data),
      },
      ownerReferences: [controllerReference(user)],
    },
    type: 'Opaque',
    data: { ...data },
  };
}

/**
 * `isCurrent` reports whether a copy is complete and has this revision of this source; then the source's Secret need
 * not be read.
 */
export function isCurrent(copy: SecretObject, source: OwnedObject, revision: string): boolean {
  const { annotations = {} } = copy.metadata;
  return (
    annotations[SOURCE_ANNOTATION] === `${describeObject(source)} ${source.metadata.uid ?? ''}` &&
    annotations[REVISION_ANNOTATION] === revision &&
    annotations[CONTENT_ANNOTATION] === contentOf(copy.data ?? {})
  );
}

/**
 * `bindingsIn` returns the bindings in a status that can be ours: a forged one must not name another Secret as the
 * connection. What it names is still only a copy if `isCopyOf` says so.
 */
export const bindingsIn = (user: Named & { readonly status?: { readonly bindings?: readonly Binding[] } }): Binding[] =>
  (user.status?.bindings ?? []).filter(
    ({ kind, namespace, name, connectionSecret: secret }) =>
      secret === undefined || secret === connectionName(user, { kind, metadata: { namespace, name } }),
  );

/** `isMadeFor` reports whether a Secret has the connection of a source: the platform or its broker wrote it for that. */
export const isMadeFor = ({ metadata }: SecretObject, { metadata: { uid } }: OwnedObject): boolean =>
  uid !== undefined &&
  (metadata.labels?.[RESOURCE_UID_LABEL] === uid ||
    metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true);

export const isCopyOf = (copy: KubernetesObject, user: Pick<KubernetesObject, 'metadata'>): boolean =>
  controllerOf(copy)?.uid === user.metadata.uid;

/** `contentOf` returns a digest of all keys and values. */
function contentOf(data: Readonly<Record<string, string>>): string {
  const entries = Object.entries(data).sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 32);
}
