/**
 * Builds the webhook configurations: which requests the API server sends, where, and which CA it trusts.
 *
 * There are two configurations, because the API server calls webhooks in two phases. Mutating webhooks run before it
 * validates the object against its schema; only there can the webhook explain why an owner must not change before a CRD
 * rule rejects it with its own message. Validating webhooks see the object as it will be stored, after all mutations.
 *
 * Each configuration has a webhook for platform kinds, two for Policies, PolicyExceptions and Approvals
 * (policy-kinds-webhook.ts), up to two for requests that policies match (more if policies name different versions of one
 * resource), and those of single gates (crds, namespaces). The leader checks Policies that the break-glass group wrote
 * without the webhook, reports their errors in their status, and keeps them out of force.
 */

import { GROUP, kinds, VERSION } from '../../api/index.ts';
import type { ScopeEntry } from '../../policy/internal.ts';
import type { KubernetesObject, OwnerReference, Resource } from '../../runtime/index.ts';
import type { Bundle, ResourceMapping } from '../../runtime/internal.ts';
import { gatePath, gateTimeoutSeconds, gateWebhooks } from './crd-webhook.ts';
import { namespacesPath, namespaceWebhooks } from './namespace-webhook.ts';
import { approvalPlurals, policyKindPlurals, policyKindWebhooks } from './policy-kinds-webhook.ts';
import { rulesFor, systemNamespaces } from './rules.ts';
import { keptWhileUsed, targetsOf } from './targets.ts';
import type { FailurePolicy, Rule, WebhookScope } from './types.ts';

export type WebhookTarget =
  | { readonly url: string }
  | { readonly service: { readonly namespace: string; readonly name: string; readonly port?: number } };

/** The webhooks whose failurePolicy can differ from that of the others: for platform kinds, of the CRD gate, and for Namespaces. */
type WebhookGroup = 'platform-kinds' | 'crds' | 'namespaces';
export type FailurePolicies = Partial<Record<WebhookGroup, FailurePolicy>>;

/** The process that installs the configurations. */
export interface Installer {
  /** A unique ID of the process. It distinguishes its configurations from those that another process has taken over. */
  readonly id: string;
  /** Whether all replicas serve the same certificates. If not, the CA bundle of one process does not verify another. */
  readonly sharesCertificates: boolean;
  /**
   * The installation that the process is a replica of, identified by its leader-election Lease; undefined for a
   * standalone process.
   */
  readonly installation?: string | undefined;
}

export interface ConfigurationOptions {
  readonly installer: Installer;
  readonly target: WebhookTarget;
  readonly bundle: Bundle;
  /** The failurePolicy of the webhook for platform kinds. `Ignore` applies to all webhooks. */
  readonly failurePolicy: FailurePolicy;
  /** The failurePolicy of single webhooks, in place of `failurePolicy`. */
  readonly failurePolicies?: FailurePolicies | undefined;
  /** The requests that policies match. */
  readonly scope: readonly ScopeEntry[];
  readonly mapping: ResourceMapping;
  readonly platformNamespace: string;
  /** Namespaces that policies exempt, beside kube-system and the platform namespace. */
  readonly excludedNamespaces?: readonly string[] | undefined;
  /** Whether the CRD gate is enabled; `only` for the webhooks of the gate and of Approvals, on which it depends, and no others. */
  readonly crds?: boolean | 'only' | undefined;
  /** The group that can write Policies, PolicyExceptions and Approvals while the webhook is unavailable. */
  readonly breakGlassGroup: string;
  /** The object with which the configurations are deleted: the garbage collector removes them, even if no replica runs. */
  readonly owner?: OwnerReference | undefined;
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
/** The timeout of a webhook call. The user's request waits for it. */
export const timeoutSeconds = 5;

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
  const { bundle, installer, owner } = options;
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
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    webhooks: [
      ...(options.crds === 'only' ? [] : platformWebhooks(phase, forGroup(options, 'platform-kinds'))),
      ...policyKinds(phase, options),
      ...definitionWebhooks(phase, forGroup(options, 'crds')),
      ...(options.crds === 'only' ? [] : deletionWebhooks(phase, forGroup(options, 'namespaces'))),
      ...policyWebhooks(phase, options),
    ],
  };
}

const forGroup = (options: ConfigurationOptions, group: WebhookGroup): ConfigurationOptions => ({
  ...options,
  failurePolicy: options.failurePolicies?.[group] ?? options.failurePolicy,
});

function platformWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  const plurals = kinds.map(({ plural }) => plural);
  const everywhere = { matchConditions: [], exemptNamespaces: [] };
  const owned = plurals.filter((plural) => !policyKindPlurals.includes(plural));
  const naming = { name: phase.verb, path: '', failurePolicy: options.failurePolicy };
  return [
    webhookOf(phase, options, naming, {
      ...everywhere,
      rules: [ownKinds(owned), ...(phase.verb === 'validate' ? [guardedDeletions] : [])],
    }),
  ];
}

function policyKinds(phase: Phase, options: ConfigurationOptions): Webhook[] {
  const plurals = options.crds === 'only' ? approvalPlurals : policyKindPlurals;
  return policyKindWebhooks(phase.verb, options.breakGlassGroup, plurals).map(({ name, failurePolicy, scope }) =>
    webhookOf(phase, options, { name: `${phase.verb}-${name}`, path: '/policies', failurePolicy }, scope),
  );
}

/** The webhooks of the CRD gate. They are validating, because the gate needs the definition as it will be stored. */
function definitionWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  if (phase.verb !== 'validate' || !options.crds) return [];
  return gateWebhooks(options.failurePolicy).map(({ name, failurePolicy, scope }) => ({
    ...webhookOf(phase, options, { name: `${phase.verb}-${name}`, path: gatePath, failurePolicy }, scope),
    timeoutSeconds: gateTimeoutSeconds,
  }));
}

/** The webhooks for the deletion of Namespaces and for their team label. */
function deletionWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  if (phase.verb !== 'validate') return [];
  const { failurePolicy, scope, mapping, platformNamespace } = options;
  const targets = scope
    .filter((entry) => entry.phase === phase.verb)
    .flatMap((entry) => targetsOf(entry, mapping).targets);
  const exempt = systemNamespaces(platformNamespace);
  return namespaceWebhooks({ failurePolicy, targets, exemptNamespaces: exempt }).map(({ name, scope: asked, ...own }) =>
    webhookOf(phase, options, { name: `${phase.verb}-${name}`, path: namespacesPath, ...own }, asked),
  );
}

/**
 * The rule for platform kinds, without subresources: a write to status or scale cannot change spec.owner or labels,
 * because the API server restores the stored values.
 */
const ownKinds = (resources: readonly string[]): Rule => ({
  apiGroups: [GROUP],
  apiVersions: [VERSION],
  operations: ['CREATE', 'UPDATE'],
  resources,
  scope: '*',
});

/** Deletions that the in-use gate checks. */
const guardedDeletions: Rule = { ...ownKinds(keptWhileUsed), operations: ['DELETE'] };

/** Mutations that must run only once have webhooks of their own, separate from those that may be reinvoked. */
const askedAgain = {
  mutate: [
    { reinvocation: 'Never', suffix: '' },
    { reinvocation: 'IfNeeded', suffix: '-again' },
  ],
  validate: [{ suffix: '' }],
} as const satisfies Record<Phase['verb'], readonly { reinvocation?: 'Never' | 'IfNeeded'; suffix: string }[]>;

function policyWebhooks(phase: Phase, options: ConfigurationOptions): Webhook[] {
  return askedAgain[phase.verb].flatMap(({ suffix, ...again }) =>
    rulesFor({ ...options, phase: phase.verb, ...again }).asked.map(
      ({ failurePolicy, converted, breakGlass, ...scope }) => {
        const which = breakGlass === true ? 'fail' : `${failurePolicy.toLowerCase()}${suffix}`;
        const below = converted === undefined ? [] : ['converted', ...converted];
        const naming = {
          name: [phase.verb, which, ...below, ...(breakGlass === true ? ['break-glass'] : [])].join('-'),
          path: `/${[which, ...below].join('/')}`,
          failurePolicy,
        };
        const more = 'reinvocation' in again ? { reinvocationPolicy: again.reinvocation } : {};
        return { ...webhookOf(phase, options, naming, scope), ...more };
      },
    ),
  );
}

interface Naming {
  readonly name: string;
  readonly path: string;
  readonly failurePolicy: FailurePolicy;
}

/**
 * Builds a webhook with all fields that the API server would default, so that the stored configuration can be compared.
 */
function webhookOf(
  phase: Phase,
  { target, bundle, failurePolicy }: ConfigurationOptions,
  naming: Naming,
  { rules, matchConditions, exemptNamespaces, objectLabel }: WebhookScope,
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
    objectSelector: objectLabel === undefined ? {} : { matchExpressions: [{ key: objectLabel, operator: 'Exists' }] },
    ...(matchConditions.length === 0 ? {} : { matchConditions: matchConditions.map((each) => ({ ...each })) }),
    ...phase.more,
  };
}

/**
 * Excludes namespaces by the label that the API server sets on every Namespace. Users can neither add nor remove it.
 */
const outside = (namespaces: readonly string[]) => ({
  matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [...namespaces] }],
});

export const addressOf = (target: WebhookTarget, path: string) =>
  'url' in target
    ? { url: `${target.url}${path}` }
    : // The port is explicit, because the API server would default it and stored configurations are compared.
      { service: { port: 443, ...target.service, path } };

export const isOurs = ({ metadata }: WebhookConfiguration): boolean => metadata.labels?.[managedByLabel] === 'kidp';

/**
 * `isAnothers` reports whether the configuration belongs to another installer and is left alone.
 *
 * A configuration without an installer is a modified one of ours. An installation does not yield to a standalone
 * process, which would leave the cluster without configurations when it ends. A standalone process yields to every
 * other installer, and installations yield to each other, so that no two of them overwrite each other forever.
 */
export function isAnothers({ metadata }: WebhookConfiguration, { id, installation }: Installer): boolean {
  const { [installerAnnotation]: writer, [installationAnnotation]: theirs } = metadata.annotations ?? {};
  if (writer === undefined || writer === id) return false;
  return installation === undefined || theirs !== undefined;
}

export const isInstalledBy = (configuration: WebhookConfiguration, { id }: Installer): boolean =>
  isOurs(configuration) && configuration.metadata.annotations?.[installerAnnotation] === id;

/**
 * `heldBundle` returns the CA bundle in a configuration. If its webhooks have different bundles, the result is empty.
 */
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
