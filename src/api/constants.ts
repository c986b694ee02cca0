/** Names that the platform defines: group, labels, finalizers and annotations. */

export const GROUP = 'platform.company.com';
export const VERSION = 'v1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** The category of all kinds: `kubectl get kidp`. */
export const CATEGORY = 'kidp';

/** The label on every object of the platform, with the value `MANAGED_BY`. */
export const MANAGED_BY_LABEL = `${GROUP}/managed-by`;
export const MANAGED_BY = 'kidp';

/** The label with the namespace of the team (`spec.namespace` of the Team), not the name of the Team. */
export const TEAM_LABEL = `${GROUP}/team`;

/** The finalizer that keeps a deployable object until its broker has confirmed the cleanup. */
export const CLEANUP_FINALIZER = `${GROUP}/cleanup-resources`;

/** The finalizer that keeps a Team or an Application until it owns no more resources: an owner is deleted last. */
export const OWNED_RESOURCES_FINALIZER = `${GROUP}/owned-resources`;

/** The annotation on a deployable object whose change triggers another deployment of the same spec. */
export const RETRY_ANNOTATION = `${GROUP}/retry`;

/**
 * The annotation on a deployable object that is being deleted. Its value is the UID of the object; it removes the
 * object without cleanup confirmation from its broker.
 */
export const ABANDON_CLEANUP_ANNOTATION = `${GROUP}/abandon-cleanup`;

/**
 * The annotation on a DeploymentTarget that lists, separated by commas, the Brokers whose deployments its current
 * Broker takes over.
 */
export const TAKE_OVER_ANNOTATION = `${GROUP}/take-over`;

/**
 * The annotation on a Kubernetes Secret that lists, separated by commas, who may use it beside those it is bound to:
 * Services of its namespace or, in the secret store of a target, namespaces. `*` is everybody there.
 */
export const USABLE_BY_ANNOTATION = `${GROUP}/usable-by`;
