/**
 * The health profile of a snapshot: what to check on a cluster. It is much smaller than the snapshot, so that hundreds
 * can be kept in memory.
 */
import { type Crd, readCrd } from '../../crd-compat/index.ts';
import { sample } from '../../crd-compat/internal.ts';
import type { Resource, UnknownObject } from '../../runtime/index.ts';
import type { Snapshot } from '../contract.ts';
import { type WebhookKind, type WorkloadKind, webhookResources, workloadResources } from './resources.ts';
import type { PodTemplate, Workload } from './shapes.ts';

export interface WorkloadProfile {
  readonly kind: WorkloadKind;
  readonly namespace: string;
  readonly name: string;
  /** 0 if the chart itself starts at 0. */
  readonly replicas: number;
  readonly template: PodTemplate;
}

export interface CustomKind {
  readonly definition: string;
  /** In the storage version if it is served: reading it needs no conversion. */
  readonly resource: Resource;
  /** Without a status subresource, every status update increments the generation, so observedGeneration always lags. */
  readonly countsGenerations: boolean;
  /** Whether its schema has observedGeneration; if not, one object that has it shows the same. */
  readonly reportsGeneration: boolean;
  /** A valid example for a dry run; only if the operator has webhooks. */
  readonly example?: UnknownObject;
}

export interface HealthProfile {
  /** The namespace of the release. */
  readonly namespace: string;
  readonly workloads: readonly WorkloadProfile[];
  readonly webhooks: readonly { readonly kind: WebhookKind; readonly name: string }[];
  readonly kinds: readonly CustomKind[];
}

export function profileOf(snapshot: Pick<Snapshot, 'namespace' | 'manifests' | 'definitions'>): HealthProfile {
  const lasting = snapshot.manifests.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined);
  const webhooks = lasting.flatMap(({ kind, metadata: { name } }) =>
    Object.hasOwn(webhookResources, kind) ? [{ kind: kind as WebhookKind, name }] : [],
  );
  return {
    namespace: snapshot.namespace,
    workloads: lasting.flatMap((each) =>
      Object.hasOwn(workloadResources, each.kind) ? [workloadOf(each, snapshot.namespace)] : [],
    ),
    webhooks,
    kinds: snapshot.definitions.flatMap((each) => customKind(each, webhooks.length > 0) ?? []),
  };
}

/** A cache of profiles by snapshot digest: generating valid objects from a schema is expensive. */
export class Profiles {
  readonly #most: number;
  /** Ordered by last use. */
  readonly #known = new Map<string, HealthProfile>();

  constructor(most = 256) {
    this.#most = most;
  }

  of(snapshot: Snapshot): HealthProfile {
    const profile = this.#known.get(snapshot.digest) ?? profileOf(snapshot);
    this.#known.delete(snapshot.digest);
    this.#known.set(snapshot.digest, profile);
    const [oldest] = this.#known.keys();
    if (this.#known.size > this.#most && oldest !== undefined) this.#known.delete(oldest);
    return profile;
  }
}

/** Copies the values: a reference would keep the whole snapshot in memory. */
function workloadOf({ kind, metadata, spec }: UnknownObject, releaseNamespace: string): WorkloadProfile {
  const { replicas = 1, template = {} } = (spec ?? {}) as NonNullable<Workload['spec']>;
  const containers = ({ name, image, command, args, env }: NonNullable<Containers>[number]) => ({
    ...(name === undefined ? {} : { name }),
    ...(image === undefined ? {} : { image }),
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env }),
  });
  return structuredClone({
    kind: kind as WorkloadKind,
    namespace: metadata.namespace ?? releaseNamespace,
    name: metadata.name,
    replicas,
    template: {
      metadata: {
        labels: template.metadata?.labels ?? {},
        annotations: template.metadata?.annotations ?? {},
      },
      spec: {
        containers: (template.spec?.containers ?? []).map(containers),
        initContainers: (template.spec?.initContainers ?? []).map(containers),
      },
    },
  });
}

type Containers = NonNullable<PodTemplate['spec']>['containers'];

function customKind(definition: UnknownObject, withExample: boolean): CustomKind | undefined {
  const { crd } = readCrd(definition);
  if (crd === undefined) return undefined;
  const served = crd.spec.versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  if (version === undefined) return undefined;
  const { group, scope, names } = crd.spec;
  const resource: Resource = {
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    namespaced: scope === 'Namespaced',
  };
  const example = withExample ? exampleOf(crd, resource, version.name) : undefined;
  return {
    definition: crd.metadata.name,
    resource,
    countsGenerations: version.subresources?.status !== undefined,
    reportsGeneration:
      version.schema?.openAPIV3Schema?.properties?.status?.properties?.observedGeneration !== undefined,
    ...(example === undefined ? {} : { example }),
  };
}

/** Undefined if no valid object is found; then an existing object is copied. */
function exampleOf(crd: Crd, { group, version, kind }: Resource, name: string): UnknownObject | undefined {
  const schema = crd.spec.versions.find((each) => each.name === name)?.schema?.openAPIV3Schema;
  const apiVersion = `${group}/${version}`;
  if (schema === undefined) return { apiVersion, kind, metadata: { name: 'probe' } };
  const made = sample(schema, [], { resource: { apiVersion, kind, name: 'probe' } });
  return made === undefined ? undefined : (made as UnknownObject);
}
