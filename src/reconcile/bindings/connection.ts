/** The connection of a binding: a Kubernetes Secret in the namespace of its user, which goes with the user. */
import { createHash } from 'node:crypto';
import { GROUP, MANAGED_BY, MANAGED_BY_LABEL } from '../../api/index.ts';
import { controllerOf, controllerReference, type KubernetesObject } from '../../runtime/index.ts';
import { describeObject, type OwnedObject } from '../platform/ownership.ts';

export interface SecretObject extends KubernetesObject {
  type?: string;
  /** In base64. */
  data?: Record<string, string>;
}

/** What is handed on, and how it is told from what was handed on before. */
export interface Connection {
  readonly data: Readonly<Record<string, string>>;
  readonly revision: string;
}

/** On every Secret that is made for a binding, and on no other. */
const BINDING_LABEL = `${GROUP}/binding`;
export const bindingSelector = `${BINDING_LABEL}=true`;
const SOURCE_ANNOTATION = `${GROUP}/binding-source`;
const REVISION_ANNOTATION = `${GROUP}/binding-revision`;
const CONTENT_ANNOTATION = `${GROUP}/binding-content`;

/** The same for the same pair, and told apart by a digest where names run into each other. */
export function connectionName(user: OwnedObject, source: OwnedObject): string {
  const parts = [user, source].map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name]);
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8);
  const words = [user.kind, user.metadata.name, source.kind, source.metadata.name].join('-').toLowerCase();
  // As long as the name of a Secret may be; what would end in a dot or a hyphen there is no name.
  return `${words.slice(0, 253 - digest.length - 1).replace(/[-.]+$/, '')}-${digest}`;
}

/** Without credentials: where it is. Keys that a Secret cannot have are left out. */
export function addressOf({ status }: OwnedObject): Connection {
  const entries = Object.entries({ ...(status?.url === undefined ? {} : { url: status.url }), ...status?.outputs })
    .filter(([key]) => /^[-._a-zA-Z0-9]{1,253}$/.test(key))
    .map(([key, value]): [string, string] => [key, Buffer.from(value).toString('base64')]);
  const data = Object.fromEntries(entries);
  return { data, revision: contentOf(data) };
}

/** With credentials: what its Secret holds, under the revision that its status names. */
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

/** Whether a copy is whole and of this revision of this source: then the source's Secret need not be read. */
export function isCurrent(copy: SecretObject, source: OwnedObject, revision: string): boolean {
  const { annotations = {} } = copy.metadata;
  return (
    annotations[SOURCE_ANNOTATION] === `${describeObject(source)} ${source.metadata.uid ?? ''}` &&
    annotations[REVISION_ANNOTATION] === revision &&
    annotations[CONTENT_ANNOTATION] === contentOf(copy.data ?? {})
  );
}

export const isCopyOf = (copy: KubernetesObject, user: OwnedObject): boolean =>
  controllerOf(copy)?.uid === user.metadata.uid;

/** A digest of all keys and values. */
function contentOf(data: Readonly<Record<string, string>>): string {
  const entries = Object.entries(data).sort(([one], [other]) => (one < other ? -1 : Number(one > other)));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex').slice(0, 32);
}
