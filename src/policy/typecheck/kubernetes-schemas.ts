/** The built-in kinds of a Kubernetes 1.36 API server with their schemas, without a cluster. */
import { pluralOf } from '../native/plural.ts';
import { kubernetesModel, modelReference } from './kubernetes-models.ts';
import { kindKey, type SchemaKind, type SchemaSource } from './schemas.ts';

/** Kinds by group and version. Cluster-scoped kinds follow the bar. */
const KINDS: Readonly<Record<string, string>> = {
  v1: 'Binding ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount | ComponentStatus Namespace Node PersistentVolume',
  'admissionregistration.k8s.io/v1':
    '| MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
  'apiextensions.k8s.io/v1': '| CustomResourceDefinition',
  'apiregistration.k8s.io/v1': '| APIService',
  'apps/v1': 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet',
  'authentication.k8s.io/v1': '| SelfSubjectReview TokenReview',
  'authorization.k8s.io/v1':
    'LocalSubjectAccessReview | SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview',
  'autoscaling/v1': 'HorizontalPodAutoscaler',
  'autoscaling/v2': 'HorizontalPodAutoscaler',
  'batch/v1': 'CronJob Job',
  'certificates.k8s.io/v1': '| CertificateSigningRequest',
  'coordination.k8s.io/v1': 'Lease',
  'discovery.k8s.io/v1': 'EndpointSlice',
  'events.k8s.io/v1': 'Event',
  'flowcontrol.apiserver.k8s.io/v1': '| FlowSchema PriorityLevelConfiguration',
  'networking.k8s.io/v1': 'Ingress NetworkPolicy | IPAddress IngressClass ServiceCIDR',
  'node.k8s.io/v1': '| RuntimeClass',
  'policy/v1': 'PodDisruptionBudget',
  'rbac.authorization.k8s.io/v1': 'Role RoleBinding | ClusterRole ClusterRoleBinding',
  'resource.k8s.io/v1': 'ResourceClaim ResourceClaimTemplate | DeviceClass ResourceSlice',
  'scheduling.k8s.io/v1': '| PriorityClass',
  'storage.k8s.io/v1': 'CSIStorageCapacity | CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass',
};

/** Models whose names in the library differ from version and kind. */
const MODELS: Readonly<Record<string, string>> = {
  'v1/Event': 'CoreV1Event',
  'events.k8s.io/v1/Event': 'EventsV1Event',
  'resource.k8s.io/v1/ResourceClaim': 'ResourceV1ResourceClaim',
};

/** The models of subresources that differ from the kind itself, by `kind/subresource`. */
const SUBRESOURCES: Readonly<Record<string, string>> = {
  scale: 'V1Scale',
  'v1/Pod/binding': 'V1Binding',
  'v1/Pod/eviction': 'V1Eviction',
  'v1/ServiceAccount/token': 'AuthenticationV1TokenRequest',
};

/** Subresources whose objects are of the kind itself. */
const SAME_KIND: ReadonlySet<string> = new Set(['status', 'ephemeralcontainers', 'resize', 'finalize', 'approval']);

/** A cache of a constant. */
let known: SchemaSource | undefined;

export function kubernetesSchemas(): SchemaSource {
  known ??= make();
  return known;
}

function make(): SchemaSource {
  const kinds = Object.entries(KINDS).flatMap(([apiVersion, names]) => kindsOf(apiVersion, names));
  const models = new Map(kinds.map((each) => [kindKey(each), modelOf(each)]));
  return {
    kinds: () => kinds,
    schema: (kind) => {
      const model = models.get(kindKey(kind));
      return model === undefined ? undefined : modelReference(model);
    },
    resolve: kubernetesModel,
  };
}

/**
 * `subresourceModel` returns the schema of the object of a subresource: `same` for that of the kind, a reference to
 * another one, or undefined if it is not known (exec, proxy and subresources of custom resources).
 */
export function subresourceModel(
  kind: string,
  subresource: string,
): ReturnType<typeof modelReference> | 'same' | undefined {
  if (SAME_KIND.has(subresource)) return 'same';
  const model = SUBRESOURCES[`${kind}/${subresource}`] ?? SUBRESOURCES[subresource];
  return model === undefined ? undefined : modelReference(model);
}

function kindsOf(apiVersion: string, names: string): readonly SchemaKind[] {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  const [inNamespaces = '', ofCluster = ''] = names.split('|');
  const read = (text: string, namespaced: boolean): SchemaKind[] =>
    text
      .split(' ')
      .filter((kind) => kind !== '')
      .map((kind) => ({ group, version, kind, plural: pluralOf(kind), namespaced }));
  return [...read(inNamespaces, true), ...read(ofCluster, false)];
}

function modelOf(kind: SchemaKind): string {
  const { version, kind: name } = kind;
  return MODELS[kindKey(kind)] ?? `${version[0]?.toUpperCase()}${version.slice(1)}${name}`;
}
