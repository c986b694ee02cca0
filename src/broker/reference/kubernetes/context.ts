/** Collects what a plan needs besides the request: stored or generated values, and the connections of bound resources. */
import { USABLE_BY_ANNOTATION } from '../../../api/index.ts';
import type { Client } from '../../../runtime/index.ts';
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import type { Find } from './apply.ts';
import { environmentOf } from './bindings.ts';
import { cacheSecretName, cacheValues } from './cache.ts';
import { getOrUndefined } from './cluster-cache.ts';
import { rotationAnnotations, rotationDue, type SecretObject, valuesOf } from './credentials.ts';
import { databaseSecretName, databaseValues } from './database.ts';
import type { ManifestContext } from './manifests.ts';
import { bounded, isOurs, namespaceOf, ROTATE_LABEL } from './names.ts';
import { secrets } from './resources.ts';
import { secretName, secretValues } from './secret.ts';
import { isMarkedFor, notUsable } from './usable-secrets.ts';

interface ContextOptions {
  readonly client: Client;
  readonly decrypt: (jwe: string) => Promise<Record<string, string>>;
  readonly managementCluster: boolean;
  readonly images: Readonly<Record<string, string>>;
  readonly now: () => number;
}

export class ContextReader {
  readonly #options: ContextOptions;

  constructor(options: ContextOptions) {
    this.#options = options;
  }

  /** Reads from the API server, where `Find` of the cache may be behind this broker's own writes. */
  readonly stored: Find = (resource, key) => getOrUndefined(this.#options.client, resource, key);

  /** The Secret with the values of a Database, Cache or Secret; undefined if there is none, or if it is not this broker's. */
  async secretOf(request: DeploymentRequest, find: Find): Promise<SecretObject | undefined> {
    const name = secretNameOf(request);
    if (name === undefined) return undefined;
    const key = { namespace: namespaceOf(request), name };
    const known = find === this.stored ? undefined : await find(secrets, key);
    const live = (known ?? (await this.stored(secrets, key))) as SecretObject | undefined;
    return live !== undefined && isOurs(live.metadata, request) ? live : undefined;
  }

  /** Milliseconds until the credentials must be rotated: 0 or less is now, undefined is never. */
  rotationDue(request: DeploymentRequest, present: SecretObject | undefined): number | undefined {
    return rotationDue(present, rotationOf(request), this.#options.now());
  }

  /** The context of a deployment: missing values are generated, and all values are if `renew` is true. */
  async forDeployment(
    request: DeploymentRequest,
    present: SecretObject | undefined,
    renew: boolean,
  ): Promise<ManifestContext> {
    const { images, now } = this.#options;
    return {
      values: await this.#valuesOf(request, valuesOf(present), renew),
      rotation: rotationAnnotations(present, rotationOf(request), renew || present === undefined, now()),
      environment: request.resource.kind === 'Service' ? await this.#connectionsOf(request) : {},
      images,
    };
  }

  /** The context of drift detection: values as they are in the cluster, nothing generated and nothing decrypted. */
  async forComparison(
    request: DeploymentRequest,
    present: SecretObject | undefined,
    find: Find,
  ): Promise<ManifestContext> {
    const { images, now } = this.#options;
    const { kind } = request.resource;
    const values = kind === 'Service' ? {} : valuesOf(present);
    const isBound = kind === 'Service' && (request.bindings ?? []).length > 0;
    const key = { namespace: namespaceOf(request), name: bounded(`${request.resource.name}-bindings`, 253) };
    const environment = isBound ? valuesOf((await find(secrets, key)) as SecretObject | undefined) : {};
    return { values, rotation: rotationAnnotations(present, rotationOf(request), false, now()), environment, images };
  }

  async #valuesOf(
    request: DeploymentRequest,
    previous: Readonly<Record<string, string>>,
    renew: boolean,
  ): Promise<Record<string, string>> {
    switch (request.resource.kind) {
      case 'Database':
        return databaseValues(request, previous, renew);
      case 'Cache':
        return cacheValues(request, previous, renew);
      case 'Secret': {
        const namespace = request.target.parameters?.secretStoreNamespace;
        const readStore =
          namespace === undefined ? undefined : (name: string) => this.#readStore(request, namespace, name);
        return secretValues(request, previous, renew, readStore);
      }
      default:
        return {};
    }
  }

  #connectionsOf(request: DeploymentRequest): Promise<Record<string, string>> {
    const { decrypt, managementCluster } = this.#options;
    return environmentOf(request, {
      decrypt: async (jwe) => {
        try {
          return await decrypt(jwe);
        } catch (error) {
          throw permanent('binding-undecipherable', `cannot decrypt a connection: ${(error as Error).message}`);
        }
      },
      secret: async (namespace, name) => (managementCluster ? this.#readBound(request, namespace, name) : undefined),
    });
  }

  /** The store has the Secrets of many teams: each says which namespaces may copy it. */
  async #readStore({ resource }: DeploymentRequest, namespace: string, name: string) {
    const found = await getOrUndefined<SecretObject>(this.#options.client, secrets, { namespace, name });
    if (found !== undefined && isMarkedFor(found.metadata, resource.namespace)) return valuesOf(found);
    throw notUsable(
      `Secret ${name} of the secret store does not exist, or is not marked as usable by namespace ${resource.namespace}`,
      `Correct remoteRef.path, or ask an administrator to annotate the Secret in namespace ${namespace} with ${USABLE_BY_ANNOTATION}: ${resource.namespace}`,
    );
  }

  /** The platform makes such a Secret for the Service; any other that a request names is not its connection. */
  async #readBound({ resource }: DeploymentRequest, namespace: string, name: string) {
    const found = await getOrUndefined<SecretObject>(this.#options.client, secrets, { namespace, name });
    const isBound = found?.metadata.ownerReferences?.some(
      (owner) => owner.controller === true && owner.uid === resource.uid,
    );
    return found !== undefined && isBound === true ? valuesOf(found) : undefined;
  }
}

function secretNameOf(request: DeploymentRequest): string | undefined {
  switch (request.resource.kind) {
    case 'Database':
      return databaseSecretName(request);
    case 'Cache':
      return cacheSecretName(request);
    case 'Secret':
      return secretName(request);
    default:
      return undefined;
  }
}

function rotationOf({ spec, labels, resource }: DeploymentRequest) {
  const of = (spec ?? {}) as { rotationDays?: number; connectionSecret?: { rotationDays?: number } };
  const rotationDays = resource.kind === 'Secret' ? of.rotationDays : of.connectionSecret?.rotationDays;
  return { rotationDays, asked: labels?.[ROTATE_LABEL] };
}
