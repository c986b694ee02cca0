/**
 * The parts of crd-compat that the other modules of this project use and that are not part of the public API (`index.ts`). The package
 * does not export this file, so its names change without notice.
 */

// Definitions: key order, and the versions that objects are stored in and that clients prefer.
export { alike } from './canonical.ts';
export { preferredVersion, storageVersion } from './crd.ts';

// Objects and a schema: examples, and validation like the API server's.
export { type Fault, sample, type Validator, validator } from './instance/index.ts';

// Changes: whether stored objects can show them, and the order of classes.
export { isSeenInObjects } from './kinds.ts';
export { worse } from './verdict.ts';
