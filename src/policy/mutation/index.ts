/**
 * What policies change in an object before it is judged: ApplyConfiguration and JSONPatch, as MutatingAdmissionPolicy
 * has them.
 *
 * In: an object and what expressions made of it. Out: the object as it becomes, and the smallest patch that gets there.
 * It must not know who asks, and does no input or output.
 */
export { type JsonPatchOperation, jsonPatchBetween, writeJsonPatch } from './difference.ts';
export { sameJson, writeJson } from './json.ts';
export { applyJsonPatch, type PatchStep } from './json-patch.ts';
export { type MutateOptions, mutate } from './mutate.ts';
