/**
 * What policies change in an object before it is judged: ApplyConfiguration and JSONPatch, as MutatingAdmissionPolicy has them.
 *
 * In: an object and what expressions made of it. Out: the object as it becomes, and the smallest patch that gets there. It must
 * not know who asks, and does no input or output.
 */
export { jsonPatchBetween, writeJsonPatch } from './difference.ts';
export { applyJsonPatch, type JsonPatchOperation, type Patched } from './json-patch.ts';
