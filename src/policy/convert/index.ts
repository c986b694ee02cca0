/**
 * Conversion of policies between kidp, Kubernetes (ValidatingAdmissionPolicy and MutatingAdmissionPolicy), Gatekeeper
 * (templates in CEL) and Kyverno (policies in CEL).
 *
 * Input: objects. Output: objects, and a note on every field without an equivalent. It does not know files or commands.
 */
export {
  type Conversion,
  type ConversionOptions,
  type ConversionTarget,
  convertPolicies,
} from './convert.ts';
export type { ConversionNote } from './notes.ts';
