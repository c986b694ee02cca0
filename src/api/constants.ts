/** The names that the platform gives a meaning to. */

export const GROUP = 'platform.company.com';
export const VERSION = 'v1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** All kinds answer to `kubectl get kidp`. */
export const CATEGORY = 'kidp';

/** On every object of the platform, with the value `MANAGED_BY`. */
export const MANAGED_BY_LABEL = `${GROUP}/managed-by`;
export const MANAGED_BY = 'kidp';

/** Holds the namespace of the team (`spec.namespace` of the Team), not the Team's own name. */
export const TEAM_LABEL = `${GROUP}/team`;

/** Keeps a deployable object until its broker has confirmed that the thing is gone. */
export const CLEANUP_FINALIZER = `${GROUP}/cleanup-resources`;

/** Keeps a Team or an Application until nothing belongs to it any more: an owner goes last. */
export const OWNED_RESOURCES_FINALIZER = `${GROUP}/owned-resources`;

/** On a deployable object: another value than before asks for another deployment of the same spec. */
export const RETRY_ANNOTATION = `${GROUP}/retry`;

/** On a deployable object that is being deleted, with its uid: it goes without its broker having confirmed anything. */
export const ABANDON_CLEANUP_ANNOTATION = `${GROUP}/abandon-cleanup`;

/** On a DeploymentTarget: the Brokers, by name and comma, whose deployments there its Broker of today takes over. */
export const TAKE_OVER_ANNOTATION = `${GROUP}/take-over`;
