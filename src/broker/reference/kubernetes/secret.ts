/** Maps a Secret to a Kubernetes Secret. Values are generated, or read from the namespace that is the secret store of the target. */
import type { Secret } from '../../../api/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import { type Alphabet, encodeValues, generateValue } from './credentials.ts';
import type { ManifestContext } from './manifests.ts';
import { metadataOf } from './names.ts';
import type { Manifest } from './resources.ts';

type Spec = Secret['spec'];
type RemoteRef = NonNullable<NonNullable<Spec['keys']>[number]['remoteRef']>;

export const secretName = (request: DeploymentRequest): string =>
  (request.spec as Spec | undefined)?.secretName ?? request.resource.name;

export function secretManifests(request: DeploymentRequest, { values, rotation }: ManifestContext): Manifest[] {
  const metadata = metadataOf(request, secretName(request));
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { ...metadata, annotations: { ...metadata.annotations, ...rotation } },
      type: (request.spec as Spec).type ?? 'Opaque',
      data: encodeValues(values),
    },
  ];
}

/** Returns the entries of a Secret in the store; rejects if the object must not use it, or it does not exist. */
type ReadStore = (name: string) => Promise<Readonly<Record<string, string>>>;

/** `secretValues` keeps generated values until rotation is due, and reads values of the store each time. */
export async function secretValues(
  request: DeploymentRequest,
  before: Readonly<Record<string, string>>,
  renew: boolean,
  store: ReadStore | undefined,
): Promise<Record<string, string>> {
  const values: Record<string, string> = {};
  for (const { name, generate: made, remoteRef } of (request.spec as Spec).keys ?? []) {
    if (remoteRef !== undefined) values[name] = await fetchValue(request, remoteRef, store);
    else if (!renew && before[name] !== undefined) values[name] = before[name];
    else values[name] = generateValue(made?.length, made?.alphabet as Alphabet | undefined);
  }
  return values;
}

async function fetchValue(
  { target }: DeploymentRequest,
  { path, property, version }: RemoteRef,
  store: ReadStore | undefined,
): Promise<string> {
  if (store === undefined) {
    throw permanent(
      'no-secret-store',
      `DeploymentTarget ${target.name} has no secret store: set its spec.parameters.secretStoreNamespace to the namespace with the Secrets, or use generate`,
    );
  }
  if (version !== undefined) {
    throw permanent(
      'no-secret-versions',
      `the secret store of DeploymentTarget ${target.name} does not support versions: remove remoteRef.version of "${path}"`,
    );
  }
  const entries = await store(path);
  const keys = Object.keys(entries);
  const key = property ?? (keys.length === 1 ? keys[0] : undefined);
  const value = key === undefined ? undefined : entries[key];
  if (value !== undefined) return value;
  throw permanent(
    'no-such-property',
    property === undefined
      ? `Secret "${path}" in the secret store has ${keys.length} entries: select one with remoteRef.property`
      : `Secret "${path}" in the secret store has no entry "${property}": add it, or correct remoteRef.property`,
  );
}
