/**
 * The webhook configurations: what the API server calls us for, where, and whom it trusts there.
 *
 * There are two, because an API server asks twice. The mutating webhooks come before it validates an object against its schema:
 * only there can we say why an owner may not change before a rule of the CRD says it in its own words. The validating ones see
 * the object as it will be stored, after everybody else's mutations.
 */
import { isDeepStrictEqual } from 'node:util';
import { GROUP, type Kind, kinds, VERSION } from '../api/index.ts';
import {
  type Bundle,
  type Client,
  ConfigError,
  isConflict,
  isNotFound,
  type KubernetesObject,
  type Resource,
} from '../runtime/index.ts';

export type FailurePolicy = 'Fail' | 'Ignore';

export type WebhookTarget =
  | { readonly url: string }
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port?: number } };

/** Who installs: one run of this process. */
export interface Installer {
  /** No other run has it: it tells the configurations of this run from those that another has taken over. */
  readonly id: string;
  /** Whether every replica serves the same certificates; else no run's bundle verifies another run. */
  readonly sharesCertificates: boolean;
}

export interface ConfigurationOptions {
  readonly installer: Installer;
  readonly target: WebhookTarget;
  readonly bundle: Bundle;
  readonly failurePolicy: FailurePolicy;
}

export interface WebhookConfiguration extends KubernetesObject {
  webhooks?: {
    name: string;
    clientConfig: { caBundle?: string; [field: string]: unknown };
    [field: string]: unknown;
  }[];
}

export const configurationName = 'kidp-admission';
export const fieldManager = 'kidp';
const managedByLabel = 'app.kubernetes.io/managed-by';
const generationAnnotation = 'platform.company.com/certificate-generation';
const installerAnnotation = 'platform.company.com/installed-by';
/** An API server waits so long for us; every apply of a user waits with it. */
const timeoutSeconds = 5;

interface Phase {
  readonly resource: Resource;
  readonly verb: 'mutate' | 'validate';
  /** Fields that only this phase has. */
  readonly more: Readonly<Record<string, unknown>>;
}

const registration = { group: 'admissionregistration.k8s.io', version: 'v1', namespaced: false };
export const phases: readonly Phase[] = [
  {
    resource: { ...registration, plural: 'mutatingwebhookconfigurations', kind: 'MutatingWebhookConfiguration' },
    verb: 'mutate',
    more: { reinvocationPolicy: 'IfNeeded' },
  },
  {
    resource: { ...registration, plural: 'validatingwebhookconfigurations', kind: 'ValidatingWebhookConfiguration' },
    verb: 'validate',
    more: {},
  },
];

export function buildConfiguration(
  phase: Phase,
  { bundle, failurePolicy, installer, target }: ConfigurationOptions,
): WebhookConfiguration {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: phase.resource.kind,
    metadata: {
      name: configurationName,
      labels: { [managedByLabel]: 'kidp' },
      annotations: { [generationAnnotation]: String(bundle.generation), [installerAnnotation]: installer.id },
    },
    webhooks: [
      {
        name: `${phase.verb}.kidp.${GROUP}`,
        admissionReviewVersions: ['v1'],
        clientConfig: { ...clientConfigOf(target, phase.verb), caBundle: encodePem(bundle.pem) },
        failurePolicy,
        matchPolicy: 'Equivalent',
        sideEffects: 'None',
        timeoutSeconds,
        rules: [
          {
            apiGroups: [GROUP],
            apiVersions: [VERSION],
            operations: ['CREATE', 'UPDATE'],
            // Not their subresources: a write to status or scale cannot reach spec.owner, the API server puts the stored spec back.
            resources: kinds.filter(hasOwner).map(({ plural }) => plural),
            scope: '*',
          },
        ],
        ...phase.more,
      },
    ],
  };
}

export interface Installed {
  /** Removes the configurations, unless somebody has put others in their place. */
  uninstall(): Promise<void>;
}

/** Takes over configurations that an earlier run of ours has left behind; one that is not ours is left alone and reported. */
export async function installConfigurations(client: Client, options: ConfigurationOptions): Promise<Installed> {
  const installed: (() => Promise<void>)[] = [];
  const uninstall = async () => {
    for (const remove of installed) await remove();
  };
  try {
    for (const phase of phases) installed.push(await installOne(client, phase, options));
  } catch (error) {
    await uninstall();
    throw error;
  }
  return { uninstall };
}

async function installOne(client: Client, phase: Phase, options: ConfigurationOptions): Promise<() => Promise<void>> {
  const { resource } = phase;
  const present = await readConfiguration(client, resource);
  if (present !== undefined && !isOurs(present)) {
    throw new ConfigError({
      code: 'webhook-configuration',
      message: `A ${resource.kind} ${configurationName} exists that kidp has not made`,
      hint: `Look at it with "kubectl get ${resource.plural} ${configurationName} -o yaml", and delete it if nobody needs it`,
    });
  }
  const bundle = laterBundle(present, options);
  await client.apply(resource, buildConfiguration(phase, { ...options, bundle }), { fieldManager, force: true });
  return () => uninstallOne(client, phase, options);
}

/** Another replica may have published since this one read its certificates. What a run with others has left verifies nothing of ours. */
function laterBundle(present: WebhookConfiguration | undefined, { bundle, installer }: ConfigurationOptions): Bundle {
  if (present === undefined || !installer.sharesCertificates) return bundle;
  const held = heldBundle(present);
  return held.generation > bundle.generation ? held : bundle;
}

/** A run that takes over applies to the same object, under the same uid: only what stands in it tells whose it is. */
async function uninstallOne(client: Client, phase: Phase, options: ConfigurationOptions): Promise<void> {
  for (;;) {
    const present = await readConfiguration(client, phase.resource);
    if (present === undefined || !isInstalledAs(present, phase, options)) return;
    const { uid, resourceVersion } = present.metadata;
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    try {
      return await client.delete(phase.resource, { name: configurationName }, { preconditions });
    } catch (error) {
      if (isNotFound(error)) return;
      // Written since: look again whether it is still ours.
      if (!isConflict(error)) throw error;
    }
  }
}

function isInstalledAs(present: WebhookConfiguration, { verb }: Phase, options: ConfigurationOptions): boolean {
  const here = clientConfigOf(options.target, verb);
  return (
    isInstalledBy(present, options.installer) &&
    (present.webhooks ?? []).every(({ clientConfig: { caBundle, ...address } }) => isDeepStrictEqual(address, here))
  );
}

export async function readConfiguration(client: Client, resource: Resource): Promise<WebhookConfiguration | undefined> {
  try {
    return await client.get<WebhookConfiguration>(resource, { name: configurationName });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

export const isOurs = ({ metadata }: WebhookConfiguration): boolean => metadata.labels?.[managedByLabel] === 'kidp';

export const isInstalledBy = (configuration: WebhookConfiguration, { id }: Installer): boolean =>
  isOurs(configuration) && configuration.metadata.annotations?.[installerAnnotation] === id;

/** What the API server trusts us by. Webhooks that somebody has made to differ count as holding nothing. */
export function heldBundle({ metadata, webhooks = [] }: WebhookConfiguration): Bundle {
  const generation = Number(metadata.annotations?.[generationAnnotation] ?? 0);
  const held = [...new Set(webhooks.map(({ clientConfig }) => clientConfig.caBundle ?? ''))];
  return {
    pem: held.length === 1 ? Buffer.from(held[0] ?? '', 'base64').toString('utf8') : '',
    generation: Number.isSafeInteger(generation) ? generation : 0,
  };
}

export function withBundle(configuration: WebhookConfiguration, { pem, generation }: Bundle): WebhookConfiguration {
  const { metadata, webhooks = [] } = configuration;
  return {
    ...configuration,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [generationAnnotation]: String(generation) } },
    webhooks: webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: { ...webhook.clientConfig, caBundle: encodePem(pem) },
    })),
  };
}

const clientConfigOf = (target: WebhookTarget, verb: Phase['verb']) =>
  'url' in target
    ? { url: `${target.url}/${verb}` }
    : // The port that the API server would fill in is said, so that what it holds can be compared.
      { service: { port: 443, ...target.service, path: `/${verb}` } };

const encodePem = (pem: string): string => Buffer.from(pem).toString('base64');

const hasOwner = (kind: Kind): boolean => kind.spec.openapi.properties?.owner !== undefined;
