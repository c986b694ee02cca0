/**
 * Maps a request to Kubernetes objects. These are pure functions: everything besides the request (stored values,
 * decrypted connections) is in the context.
 */
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import { cacheManifests } from './cache.ts';
import { databaseManifests } from './database.ts';
import type { Manifest } from './resources.ts';
import { secretManifests } from './secret.ts';
import { serviceManifests } from './service.ts';

export interface ManifestContext {
  /** The values of the Kubernetes Secret of a Database, Cache or Secret, and its rotation annotations. */
  readonly values: Readonly<Record<string, string>>;
  readonly rotation: Readonly<Record<string, string>>;
  /** The connections of the resources that a Service uses, as environment variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly images: Readonly<Record<string, string>>;
}

/** Throws a `ProviderFailure` if the request is not supported. */
export function manifestsFor(request: DeploymentRequest, context: ManifestContext): Manifest[] {
  switch (request.resource.kind) {
    case 'Service':
      return serviceManifests(request, context);
    case 'Database':
      return databaseManifests(request, context);
    case 'Cache':
      return cacheManifests(request, context);
    case 'Secret':
      return secretManifests(request, context);
    default:
      throw permanent(
        'unsupported-kind',
        `this broker does not support ${request.resource.kind}, only Service, Database, Cache and Secret. Choose a DeploymentTarget whose broker supports it`,
      );
  }
}
