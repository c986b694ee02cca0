/** Secret → Kubernetes Secret: values that are made up, or fetched from the namespace that is the target's store of secrets. */
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

/** The entries of a Secret of the store, by its name; undefined where there is none. */
type ReadStore = (name: string) => Promise<Readonly<Record<string, string>> | undefined>;

/** What was made up stays as it was, unless new values are due; what is fetched is fetched each time. */
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
      `the target ${target.name} has no store of secrets: set spec.parameters.secretStoreNamespace of the DeploymentTarget to the namespace whose Secrets are the store, or use generate`,
    );
  }
  if (version !== undefined) {
    throw permanent(
      'no-secret-versions',
      `the store of the target ${target.name} keeps one version of a secret: leave remoteRef.version of "${path}" out`,
    );
  }
  const entries = await store(path);
  if (entries === undefined) {
    throw permanent(
      'no-such-secret',
      `the store of the target ${target.name} has no Secret "${path}": put it there, or correct remoteRef.path`,
    );
  }
  const keys = Object.keys(entries);
  const key = property ?? (keys.length === 1 ? keys[0] : undefined);
  const value = key === undefined ? undefined : entries[key];
  if (value !== undefined) return value;
  throw permanent(
    'no-such-property',
    property === undefined
      ? `"${path}" of the store has ${keys.length} entries: say which with remoteRef.property`
      : `"${path}" of the store has no entry "${property}": put it there, or correct remoteRef.property`,
  );
}
