/**
 * The catalog of Operators. In: Operators and their chart repositories. Out: the available versions, their CRDs and the
 * compatibility of those, and whether the repository is reachable. It must not know which clusters run an operator.
 */
export { addOperatorReconciler } from './reconciler.ts';
