/**
 * Reads native policies, ValidatingAdmissionPolicy and MutatingAdmissionPolicy with their bindings, into the common
 * model.
 *
 * Input: objects from the cluster or from files. Output: one model per policy and binding, and their issues. It does
 * not know how a model is evaluated.
 */

export { pluralOf } from './plural.ts';
export { isNative, readNative } from './read.ts';
