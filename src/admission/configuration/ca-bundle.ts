/** Brings the bundle of authorities into the webhook configurations, so that the API server trusts the certificate it is shown. */
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
  // Where certificates are shared, whoever has installed it is verified by this bundle too; else only who serves them is.
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
    // Nobody calls us yet: installing it brings the bundle along.
    if (present === undefined || !isVerifiedByOurs(present)) return { before: bundle, held: bundle };
    const before = heldBundle(present);
    const later = before.generation > bundle.generation;
    if (later || (before.generation === bundle.generation && before.pem === bundle.pem))
      return { before, held: before };
    try {
      await client.update(resource, withBundle(present, bundle), { fieldManager });
      return { before, held: bundle };
    } catch (error) {
      // Somebody was faster: look again, it may be another replica with a later bundle.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

/** Where they differed there is nothing that all of them trusted. */
function commonBundle(bundles: readonly Bundle[]): Bundle {
  const [first, ...others] = bundles;
  const same = others.every(({ pem, generation }) => pem === first?.pem && generation === first.generation);
  return first !== undefined && same ? first : { pem: '', generation: 0 };
}
