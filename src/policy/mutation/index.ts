/**
 * Mutations of policies, which run before rules are evaluated: ApplyConfiguration and JSONPatch, as in
 * MutatingAdmissionPolicy.
 *
 * Input: an object and the results of expressions. Output: the mutated object and the smallest patch that yields it. It
 * does not know its callers and does no input or output.
 */
export { type JsonPatchOperation, jsonPatchBetween, writeJsonPatch } from './difference.ts';
export { sameJson, writeJson } from './json.ts';
export { applyJsonPatch, type PatchStep } from './json-patch.ts';
export { type MutateOptions, mutate } from './mutate.ts';
