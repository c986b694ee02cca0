/** Publishes the CA bundle to the webhook configurations, so that the API server trusts the serving certificate. */
import { type Client, isConflict, isNotFound, type PublishBundle, type Resource } from '../../runtime/index.ts';
import type { Bundle, Publication } from '../../runtime/internal.ts';
import { readConfiguration } from './apply.ts';
import {
  fieldManager,
  heldBundle,
  type Installer,
  isInstalledBy,
  isOurs,
  phases,
  type WebhookConfiguration,
  withBundle,
} from './build.ts';

export function publishToConfigurations(client: Client, installer: Installer): PublishBundle {
  // With shared certificates the bundle also verifies other replicas; otherwise only this process.
  const isVerifiedByOurs = (configuration: WebhookConfiguration) =>
    installer.sharesCertificates ? isOurs(configuration) : isInstalledBy(configuration, installer);
  return async (bundle) => {
    const publications = await Promise.all(
      phases.map(({ resource }) => publishTo(client, resource, bundle, isVerifiedByOurs)),
    );
    return {
      before: commonBundle(publications.map(({ before }) => before)),
      held: publications.map(({ held }) => held).find(({ pem }) => pem !== bundle.pem) ?? bundle,
    };
  };
}

async function publishTo(
  client: Client,
  resource: Resource,
  bundle: Bundle,
  isVerifiedByOurs: (configuration: WebhookConfiguration) => boolean,
): Promise<Publication> {
  for (;;) {
    const present = await readConfiguration(client, resource);
    // There is no configuration yet: installing it publishes the bundle.
    if (present === undefined || !isVerifiedByOurs(present)) return { before: bundle, held: bundle };
    const before = heldBundle(present);
    const later = before.generation > bundle.generation;
    if (later || (before.generation === bundle.generation && before.pem === bundle.pem))
      return { before, held: before };
    try {
      await client.update(resource, withBundle(present, bundle), { fieldManager });
      return { before, held: bundle };
    } catch (error) {
      // A concurrent write: read again, it may be another replica with a newer bundle.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

/** Returns the bundle that all configurations had in common, or an empty one. */
function commonBundle(bundles: readonly Bundle[]): Bundle {
  const [first, ...others] = bundles;
  const same = others.every(({ pem, generation }) => pem === first?.pem && generation === first.generation);
  return first !== undefined && same ? first : { pem: '', generation: 0 };
}
