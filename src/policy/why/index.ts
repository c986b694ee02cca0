/**
 * Explains in one sentence why a rule is violated, with the field and its value.
 *
 * Input: a compiled expression that is false, and the request. Output: a sentence of limited length and the field. It
 * never contains values of Secrets or sensitive paths.
 */
export { cut } from './describe.ts';
export { Inspector, inspection, NO_LOCALS } from './inspector.ts';
export { loopOf } from './loops.ts';
export { type Place, placeText, stepsText } from './place.ts';
export { HIDDEN, Sensitive } from './sensitive.ts';
export { type Why, whyFalse, whyMissing } from './why.ts';
