/** The parts of Kubernetes objects that are read here. Any of them can be missing. */
import type { Condition, KubernetesObject } from '../../runtime/index.ts';

export interface Container {
  readonly name?: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name?: string; readonly value?: string }[];
  readonly resources?: { readonly limits?: Readonly<Record<string, string | number>> };
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly containers?: readonly Container[]; readonly initContainers?: readonly Container[] };
}

export interface Workload extends KubernetesObject {
  readonly spec?: { readonly replicas?: number; readonly template?: PodTemplate };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly readyReplicas?: number;
    readonly availableReplicas?: number;
    readonly currentRevision?: string;
    readonly updateRevision?: string;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberAvailable?: number;
    readonly conditions?: readonly { readonly type?: string; readonly status?: string; readonly reason?: string }[];
  };
}

interface ContainerStatus {
  readonly name?: string;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string };
    readonly terminated?: { readonly exitCode?: number; readonly finishedAt?: string };
  };
}

export interface Pod extends KubernetesObject {
  readonly spec?: PodTemplate['spec'];
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface CustomResource extends KubernetesObject {
  readonly status?: { readonly observedGeneration?: number; readonly conditions?: readonly Partial<Condition>[] };
}

export interface WebhookRule {
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
  readonly operations?: readonly string[];
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key?: string;
    readonly operator?: string;
    readonly values?: readonly string[];
  }[];
}

export interface Webhook {
  readonly name?: string;
  readonly clientConfig?: {
    readonly caBundle?: string;
    readonly url?: string;
    readonly service?: { readonly name?: string; readonly namespace?: string };
  };
  readonly rules?: readonly WebhookRule[];
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  readonly sideEffects?: string;
  readonly failurePolicy?: string;
}

export interface WebhookConfiguration extends KubernetesObject {
  readonly webhooks?: readonly Webhook[];
}

export interface EndpointSlice extends KubernetesObject {
  readonly endpoints?: readonly { readonly conditions?: { readonly ready?: boolean } }[];
}

export interface PodMetrics extends KubernetesObject {
  readonly containers?: readonly {
    readonly name?: string;
    readonly usage?: Readonly<Record<string, string | number>>;
  }[];
}
