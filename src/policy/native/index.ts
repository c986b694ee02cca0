/**
 * Kubernetes' own policies: ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings, read into the
 * one shape of every policy.
 *
 * In: objects as they stand in the cluster or in files. Out: a model for each policy and binding, and what is wrong
 * with them. It must not know how a model is evaluated.
 */

export { pluralOf } from './plural.ts';
export { isNative, readNative } from './read.ts';
