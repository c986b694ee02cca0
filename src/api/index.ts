/**
 * The resources of the platform: one file per kind, each schema written once.
 *
 * Input: none. Output: for each kind its schema, its TypeScript types, its runtime address (`resource`), its CRD and
 * its editor schema. (generated.ts builds the generated files; only `npm run generate` needs it.) This module does not
 * know policies, CEL, reconcilers or servers. It defines what an object may look like, not what happens because of it.
 */
export { type Application, application } from './application.ts';
export {
  type Approval,
  type ApprovalOutcome,
  type ApprovalType,
  type ApproverRole,
  approval,
  approvalLevel,
  approvalOutcome,
  approverRoles,
} from './approval.ts';
export { type Broker, broker } from './broker.ts';
export { type Cache, cache } from './cache.ts';
export {
  type Cluster,
  cluster,
  type Environment,
  ERASE_FINALIZER,
  environments,
  SEALED_KUBECONFIG_KEY,
  SEALED_KUBECONFIG_TYPE,
} from './cluster.ts';
export {
  ABANDON_CLEANUP_ANNOTATION,
  API_VERSION,
  CATEGORY,
  CLEANUP_FINALIZER,
  GROUP,
  MANAGED_BY,
  MANAGED_BY_LABEL,
  OWNED_RESOURCES_FINALIZER,
  RETRY_ANNOTATION,
  TAKE_OVER_ANNOTATION,
  TEAM_LABEL,
  USABLE_BY_ANNOTATION,
  VERSION,
} from './constants.ts';
export { type CustomResourceDefinition, crdFor } from './crd.ts';
export {
  type CrdRevision,
  crdRevision,
  type PackedDefinition,
  packDefinition,
  REGISTERED_LABEL,
  REVISION_LABEL,
  revisionLabelOf,
  revisionName,
  unpackRevision,
} from './crd-revision.ts';
export { type Database, database } from './database.ts';
export { type DeploymentTarget, deploymentTarget } from './deployment-target.ts';
export { millisecondsOf } from './duration.ts';
export { coversHost, hostsOverlap } from './hosts.ts';
export { type JsonSchema, schemaFor } from './json-schema.ts';
export { type Kind, type ManifestOf, type ObjectOf, openApiOf } from './kind.ts';
export { deployableKinds, kindNamed, kinds } from './kinds.ts';
export { teamOfNamespace } from './namespace-team.ts';
export { mostDefinitionsOfAnOperator, type Operator, operator } from './operator.ts';
export {
  type ClusterState,
  clusterStates,
  type OperatorDeployment,
  operatorDeployment,
  REQUESTED_BY_ANNOTATION,
  ROLLOUT_FINALIZER,
  type RolloutClusterStatus,
  type RolloutPhase,
  rolloutPhases,
  type Strategy,
  TRACEPARENT_ANNOTATION,
} from './operator-deployment.ts';
export {
  CLUSTER_LABEL,
  installationLabels,
  installationName,
  OPERATOR_LABEL,
  type OperatorInstallation,
  operatorInstallation,
} from './operator-installation.ts';
export { type Policy, policy } from './policy.ts';
export { type PolicyException, policyException } from './policy-exception.ts';
export {
  isAtLeast,
  type ReplicaReport,
  readReplicaLease,
  replicaLease,
  replicaLeaseName,
  replicaSelector,
} from './replica-lease.ts';
export type { OpenApiSchema, ValidationRule } from './schema/index.ts';
export { type Secret, secret } from './secret.ts';
export { sameVersion, withoutV } from './semantic-version.ts';
export { type Service, service } from './service.ts';
export { type Team, team } from './team.ts';
export { type Topic, topic } from './topic.ts';
