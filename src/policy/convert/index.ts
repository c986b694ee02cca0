/**
 * Policies of other systems into ours and ours into theirs: ValidatingAdmissionPolicy and MutatingAdmissionPolicy, Gatekeeper's
 * templates in CEL, Kyverno's policies in CEL.
 *
 * In: objects. Out: objects, and a note on everything that has no counterpart. It must not know files or commands.
 */
export {
  type Conversion,
  type ConversionOptions,
  type ConversionTarget,
  convertPolicies,
} from './convert.ts';
export type { ConversionNote } from './notes.ts';
