/**
 * What becomes of Operators. In: Operators, and the repositories that their charts are in. Out: which versions there are, what
 * definitions come with them and whether those break anything, and whether the repository can be reached. It must not know where they
 * are rolled out to.
 */
export { addOperatorReconciler } from './reconciler.ts';
