/**
 * The webhook configurations: what the API server calls us for, where, and whom it trusts there.
 *
 * There are two, because an API server asks twice. The mutating webhooks come before it validates an object against its schema:
 * only there can we say why an owner may not change before a rule of the CRD says it in its own words. The validating ones see
 * the object as it will be stored, after everybody else's mutations.
 *
 * In each there is a webhook for the platform's own kinds, one for Policies and PolicyExceptions, and up to two for what policies
 * match (more only where they name different versions of one resource); besides, those of single gates (crds, namespaces). That for Policies ignores our absence: a cluster whose webhook is gone must be mendable, and a Policy that came in unseen
 * is judged by the leader, which puts what is wrong with it in its status and does not let it judge.
 */

import { GROUP, kinds, policy, policyException, VERSION } from '../../api/index.ts';
import type { ScopeEntry } from '../../policy/internal.ts';
import type { KubernetesObject, Resource } from '../../runtime/index.ts';
import type { Bundle, ResourceMapping } from '../../runtime/internal.ts';
import { gatePath, gateTimeoutSeconds, gateWebhooks } from './crd-webhook.ts';
import { namespacesPath, namespaceWebhooks } from './namespace-webhook.ts';
import { exemptNamespaces, rulesFor } from './rules.ts';
import { targetsOf } from './targets.ts';
import type { FailurePolicy, Rule, WebhookScope } from './types.ts';

export type WebhookTarget =
  | { readonly url: string }
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port?: number } };

/** Who installs: one run of this process. */
export interface Installer {
  /** No other run has it: it tells the configurations of this run from those that another has taken over. */
  readonly id: string;
  /** Whether every replica serves the same certificates; else no run's bundle verifies another run. */
  readonly sharesCertificates: boolean;
  /** The installation that this is a replica of, by the Lease that its leader holds; none for a run that is alone. */
  readonly installation?: string | undefined;
}

export interface ConfigurationOptions {
  readonly installer: Installer;
  readonly target: WebhookTarget;
  readonly bundle: Bundle;
  /** Of the platform's own webhook; `Ignore` makes every one of them ignore our absence. */
  readonly failurePolicy: FailurePolicy;
  /** What policies match. */
  readonly scope: readonly ScopeEntry[];
  readonly mapping: ResourceMapping;
  readonly platformNamespace: string;
  /** Whether there is a gate for CustomResourceDefinitions. */
  readonly crds?: boolean | undefined;
}

interface Webhook {
  name: string;
  clientConfig: { caBundle?: string; [field: string]: unknown };
  [field: string]: unknown;
}

export interface WebhookConfiguration extends KubernetesObject {
  webhooks?: Webhook[];
}

export const configurationName = 'kidp-admission';
export const fieldManager = 'kidp';
export const managedByLabel = 'app.kubernetes.io/managed-by';
const generationAnnotation = 'platform.company.com/certificate-generation';
export const installerAnnotation = 'platform.company.com/installed-by';
export const installationAnnotation = 'platform.company.com/installation';
/** An API server waits so long for us; every apply of a user waits with it. */
const timeoutSeconds = 5;

export interface Phase {
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

export function buildConfiguration(phase: Phase, options: ConfigurationOptions): WebhookConfiguration {
  const { bundle, installer } = options;
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: phase.resource.kind,
    metadata: {
      name: configurationName,
      labels: { [managedByLabel]: 'kidp' },
      annotations: {
        [generationAnnotation]: String(bundle.generation),
        [installerAnnotation]: installer.id,
        ...(installer.installation === undefined ? {} : { [installationAnnotation]: installer.installation }),
      },
    },
    webhooks: [
      ...platformWebhooks(phase, options),
      ...definitionWebhooks(phase, options),
      ...deletionWebhooks(phase, options),
      ...policyWebhooks(phase, options),
    ],
  };
}

const policyKinds: readonly string[] = [policy.plural, policyException.plural];

function platformWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  const plurals = kinds.map(({ plural }) => plural);
  const everywhere = { matchConditions: [], exemptNamespaces: [] };
  const rulesOn = (resources: readonly string[]): WebhookScope => ({ ...everywhere, rules: [ownKinds(resources)] });
  const owned = plurals.filter((plural) => !policyKinds.includes(plural));
  return [
    webhookOf(phase, options, { name: phase.verb, path: '', failurePolicy: options.failurePolicy }, rulesOn(owned)),
    webhookOf(
      phase,
      options,
      { name: `${phase.verb}-policies`, path: '/policies', failurePolicy: 'Ignore' },
      rulesOn(policyKinds),
    ),
  ];
}

/** Asked once what will be stored is known. */
function definitionWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  if (phase.verb !== 'validate' || options.crds !== true) return [];
  return gateWebhooks(options.failurePolicy).map(({ name, failurePolicy, scope }) => ({
    ...webhookOf(phase, options, { name: `${phase.verb}-${name}`, path: gatePath, failurePolicy }, scope),
    timeoutSeconds: gateTimeoutSeconds,
  }));
}

/** Of Namespaces that are deleted. */
function deletionWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  if (phase.verb !== 'validate') return [];
  const { failurePolicy, scope, mapping, platformNamespace } = options;
  const targets = scope
    .filter((entry) => entry.phase === phase.verb)
    .flatMap((entry) => targetsOf(entry, mapping).targets);
  const exempt = exemptNamespaces(platformNamespace);
  return namespaceWebhooks({ failurePolicy, targets, exemptNamespaces: exempt }).map(({ name, scope: asked, ...own }) =>
    webhookOf(phase, options, { name: `${phase.verb}-${name}`, path: namespacesPath, ...own }, asked),
  );
}

/** Not their subresources: a write to status or scale cannot reach spec.owner or labels, the API server puts the stored ones back. */
const ownKinds = (resources: readonly string[]): Rule => ({
  apiGroups: [GROUP],
  apiVersions: [VERSION],
  operations: ['CREATE', 'UPDATE'],
  resources,
  scope: '*',
});

/** Mutations that may be asked only once are registered apart from those that may be asked again. */
const askedAgain = {
  mutate: [
    { reinvocation: 'Never', suffix: '' },
    { reinvocation: 'IfNeeded', suffix: '-again' },
  ],
  validate: [{ suffix: '' }],
} as const satisfies Record<Phase['verb'], readonly { reinvocation?: 'Never' | 'IfNeeded'; suffix: string }[]>;

function policyWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  return askedAgain[phase.verb].flatMap(({ suffix, ...again }) =>
    rulesFor({ ...options, phase: phase.verb, ...again }).asked.map(({ failurePolicy, converted, ...scope }) => {
      const which = `${failurePolicy.toLowerCase()}${suffix}`;
      const below = converted === undefined ? [] : ['converted', ...converted];
      const naming = {
        name: [phase.verb, which, ...below].join('-'),
        path: `/${[which, ...below].join('/')}`,
        failurePolicy,
      };
      const more = 'reinvocation' in again ? { reinvocationPolicy: again.reinvocation } : {};
      return { ...webhookOf(phase, options, naming, scope), ...more };
    }),
  );
}

interface Naming {
  readonly name: string;
  readonly path: string;
  readonly failurePolicy: FailurePolicy;
}

/** Everything is said that the API server would fill in, so that what it holds can be compared. */
function webhookOf(
  phase: Phase,
  { target, bundle, failurePolicy }: ConfigurationOptions,
  naming: Naming,
  { rules, matchConditions, exemptNamespaces }: WebhookScope,
): Webhook {
  return {
    name: `${naming.name}.kidp.${GROUP}`,
    admissionReviewVersions: ['v1'],
    clientConfig: { ...addressOf(target, `/${phase.verb}${naming.path}`), caBundle: encodePem(bundle.pem) },
    failurePolicy: failurePolicy === 'Ignore' ? 'Ignore' : naming.failurePolicy,
    matchPolicy: 'Equivalent',
    sideEffects: 'NoneOnDryRun',
    timeoutSeconds,
    rules: rules.map((rule) => ({ ...rule })),
    namespaceSelector: exemptNamespaces.length === 0 ? {} : outside(exemptNamespaces),
    objectSelector: {},
    ...(matchConditions.length === 0 ? {} : { matchConditions: matchConditions.map((each) => ({ ...each })) }),
    ...phase.more,
  };
}

/** By the label that the API server itself puts on every Namespace: nobody can take it off to escape, or put it on. */
const outside = (namespaces: readonly string[]) => ({
  matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [...namespaces] }],
});

export const addressOf = (target: WebhookTarget, path: string) =>
  'url' in target
    ? { url: `${target.url}${path}` }
    : // The port that the API server would fill in is said, so that what it holds can be compared.
      { service: { port: 443, ...target.service, path } };

export const isOurs = ({ metadata }: WebhookConfiguration): boolean => metadata.labels?.[managedByLabel] === 'kidp';

/**
 * Whether it is left to another, who says that it is its own. One that says nothing is what somebody has made of ours. An
 * installation gives way to no run that is alone, which goes again and would leave the cluster without any; such a run gives way to
 * all, and installations to one another, so that no two of them write for ever.
 */
export function isAnothers({ metadata }: WebhookConfiguration, { id, installation }: Installer): boolean {
  const { [installerAnnotation]: writer, [installationAnnotation]: theirs } = metadata.annotations ?? {};
  if (writer === undefined || writer === id) return false;
  return installation === undefined || theirs !== undefined;
}

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

const encodePem = (pem: string): string => Buffer.from(pem).toString('base64');
