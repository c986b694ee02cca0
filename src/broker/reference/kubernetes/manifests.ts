/**
 * From a request to the Kubernetes objects that it comes to: nothing is asked and nothing is done here. What has to be known
 * beside the request (values that were made up before, connections that were decrypted) is in the context.
 */
import type { DeploymentRequest } from '../../messages.ts';
import { permanent } from '../provider.ts';
import { cacheManifests } from './cache.ts';
import { databaseManifests } from './database.ts';
import type { Manifest } from './resources.ts';
import { secretManifests } from './secret.ts';
import { serviceManifests } from './service.ts';

export interface ManifestContext {
  /** Of a Database, Cache or Secret: the values of its Kubernetes Secret, and what that one remembers of its rotation. */
  readonly values: Readonly<Record<string, string>>;
  readonly rotation: Readonly<Record<string, string>>;
  /** Of a Service: the connections of what it uses, as environment variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly images: Readonly<Record<string, string>>;
}

/** Throws a `ProviderFailure` where what is asked for cannot be had here. */
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
        `this broker makes no ${request.resource.kind}: choose a target whose broker can (this one has Service, Database, Cache and Secret)`,
      );
  }
}
