/**
 * Parts of the language that other modules of this project use. They are not public API: the package does not export
 * this file, and it may change in any release.
 */

// Suggestions for misspelled names.
export { nearest } from './check/suggest.ts';

// Generated code, and batches that run many expressions of one form.
export { BATCH_COST_LIMIT, type Batch, batches, prepareForBatch } from './codegen/batch.ts';
export { codeAllowed, generate } from './codegen/index.ts';

// Types and values of the Kubernetes libraries.
export { AUTHORIZER, misnamedObjects, Quantity, quantity, RESOURCE_CHECK } from './library/index.ts';

// Texts, read the way that Go and Kubernetes read them.
export {
  asPrefix,
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelValueProblems,
  qualifiedNameProblems,
} from './library/kubernetes/name-rules.ts';
export { toBytes, UrlProblem } from './library/kubernetes/url/escape.ts';
export { parseRequestUri } from './library/kubernetes/url/parse.ts';
export { parseAddress } from './library/net/address.ts';
// Values as the validation rules of CRDs see them.
export { escapeProperty } from './schema/escape.ts';
export { trustedBySchema, valueBySchema } from './schema/values.ts';
export { parseAnyDuration } from './time/any-duration.ts';
