/**
 * From two versions of a CustomResourceDefinition (and, when given, stored objects) to a verdict.
 *
 * In: two CRDs. Out: every change with its class, who is hit and what to do instead. It must not know where the CRDs came from, and
 * does no input or output.
 *
 * The room is prepared but empty: the comparison comes with its own release. See CHANGELOG.md for what there is.
 */
export {};
